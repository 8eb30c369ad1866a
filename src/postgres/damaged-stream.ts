// What a session that cannot be loaded leaves to its tombstone: what can still be read of its head and last commit.
import type { SessionId } from '../../schemas/ids.ts';
import type { Tombstone } from '../../schemas/session-head.ts';
import { Version } from '../../schemas/ids.ts';
import { sessionDeleted, unknownSession } from '../journal/append-rules.ts';
import { Refusal } from '../journal/refusal.ts';
import { storedDigest } from './digest-bytes.ts';
import type { Query } from './driver.ts';

const LAST = `
SELECT s.version, c.position + c.count AS held, c.chain FROM refold.stream s
  LEFT JOIN LATERAL (
    SELECT * FROM refold.commit n WHERE n.stream = s.id ORDER BY n.position DESC LIMIT 1) AS c ON true
 WHERE s.session = $1`;

/** The tombstone of a damaged session; refuses when nothing of it is stored. */
export async function damagedTombstone(query: Query, session: SessionId, deleted_at_ms: number): Promise<Tombstone> {
  const [row] = await query(LAST, [session]);
  if (row === undefined) {
    const [tombstone] = await query('SELECT FROM refold.tombstone WHERE session = $1', [session]);
    throw new Refusal(tombstone === undefined ? unknownSession(session) : sessionDeleted(session));
  }
  const version = Version.is(row['version']) ? row['version'] : null;
  // The chain value belongs to the version only when the last commit ends there.
  const chain = row['held'] === version ? storedDigest(row['chain']) : null;
  return { session_id: session, version, chain, deleted_at_ms };
}
