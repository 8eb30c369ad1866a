// Limits of a journal in PostgreSQL (docs/limits.md).
/** How long an engine owns partitions of a shared journal after it last renewed them, in milliseconds by the database's clock. */
export const TENURE_MS = 6_000;
/** How often an engine renews them, in milliseconds. */
export const TENURE_RENEWED_MS = 2_000;
/** Connections of an engine to PostgreSQL for reads and blobs; two more write events. Further reads wait. */
export const POSTGRES_READS_MAX = 4;
/** Commits that one transaction removes from a deleted session in PostgreSQL. */
export const SWEPT_COMMITS = 1_000;
