// The bounds of the journal's own queue and caches.

/** Most bytes of events one group commit writes at once (a single larger append is still written whole). */
export const COMMIT_BYTES_MAX = 8 * 1_048_576;
/** Most appends one group commit merges. */
export const COMMIT_REQUESTS_MAX = 1_024;
/** Most bytes of events that may wait for a commit; appends beyond it are refused as `queue_full`. */
export const COMMIT_WAITING_BYTES_MAX = 64 * 1_048_576;
/** Sessions whose version is kept in memory; the version of any other is read when it is needed. */
export const HEADS_CACHED_MAX = 65_536;
/** Most bytes one step of a scan fetches from the store. */
export const SCAN_BYTES_MAX = 1_048_576;
