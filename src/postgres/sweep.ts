// Removes what a deleted session leaves behind its tombstone: commits, their event ids, and snapshots. A stream may be long, so
// it is removed in several transactions; until the last one the tombstone names the stream, and the next opening goes on.
import type { SessionId } from '../../schemas/ids.ts';
import { SWEPT_COMMITS } from '../../schemas/limits.ts';
import { uuids } from './binary-array.ts';
import { commitOfRow } from './commit-rows.ts';
import { eventKeysOf } from './event-key.ts';
import type { Query } from './driver.ts';
import { type Pool, inTransaction } from './pool.ts';

/** Removes every row of a deleted session. May be repeated. */
export async function sweepRows(pool: Pool, session: SessionId): Promise<void> {
  const [row] = await pool.query('SELECT unswept FROM refold.tombstone WHERE session = $1', [session]);
  const stream = row?.['unswept'];
  if (typeof stream !== 'number') return;
  while (await pool.use((using) => inTransaction(using, () => sweepSome(using.query, session, stream))));
  await pool.query('DELETE FROM refold.snapshot WHERE session = $1', [session]);
  await pool.query('UPDATE refold.tombstone SET unswept = NULL WHERE session = $1', [session]);
}

/** The deleted sessions whose sweep was interrupted. */
export async function unsweptRows(query: Query): Promise<readonly SessionId[]> {
  const rows = await query('SELECT session FROM refold.tombstone WHERE unswept IS NOT NULL ORDER BY session');
  return rows.map(({ session }) => session as SessionId);
}

const SOME = `
DELETE FROM refold.commit WHERE stream = $1 AND position IN (
  SELECT position FROM refold.commit WHERE stream = $1 ORDER BY position LIMIT $2)
RETURNING position, count, state_digest, chain, event_ids, events`;

/** Removes some commits; whether there were any. */
async function sweepSome(query: Query, session: SessionId, stream: number): Promise<boolean> {
  const rows = await query(SOME, [stream, SWEPT_COMMITS]);
  const keyOf = eventKeysOf(session);
  // The event ids of a commit that does not decode stay, and lead nowhere: the id of the session stays taken.
  const keys = rows.flatMap((row) => commitOfRow(row)?.events.map(({ event_id }) => keyOf(event_id)) ?? []);
  await query('DELETE FROM refold.event_id WHERE key = ANY ($1)', [uuids(keys)]);
  return rows.length > 0;
}
