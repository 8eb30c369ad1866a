// The sealed pages of transcripts: stored by the append that seals them, once for all sessions.
import type { Digest } from '../../schemas/ids.ts';
import { bytes } from './binary-array.ts';
import { digestBytes, storedDigest } from './digest-bytes.ts';
import type { Query } from './driver.ts';

export async function selectPage(query: Query, digest: Digest): Promise<Uint8Array | null> {
  const [row] = await query('SELECT content FROM refold.page WHERE digest = $1', [digestBytes(digest)]);
  return row === undefined ? null : (row['content'] as Uint8Array);
}

/** In the order of their bytes, which is that of their digests. */
export async function selectPages(query: Query, after: Digest | null, limit: number): Promise<readonly Digest[]> {
  const rows = await query(
    'SELECT digest FROM refold.page WHERE $1::bytea IS NULL OR digest > $1 ORDER BY digest LIMIT $2',
    [after === null ? null : digestBytes(after), limit],
  );
  return rows.flatMap(({ digest }) => storedDigest(digest) ?? []);
}

export async function removePages(query: Query, digests: readonly Digest[]): Promise<void> {
  if (digests.length === 0) return;
  await query('DELETE FROM refold.page WHERE digest = ANY ($1)', [bytes(digests.map((digest) => digestBytes(digest)))]);
}
