// Pages of heads, the sessions whose time has come, and tombstones.
import type { SessionId, Version } from '../../schemas/ids.ts';
import { SESSIONS_EXAMINED_MAX } from '../../schemas/limits.ts';
import { Tombstone } from '../../schemas/session-head.ts';
import type { SessionPage } from '../../schemas/wire.ts';
import type { SessionHead, SessionsRequest, Wake } from '../journal/journal.ts';
import { refuse } from '../journal/refusal.ts';
import { matchesRequest } from '../journal/session-filter.ts';
import { smalls } from './binary-array.ts';
import { storedDigest } from './digest-bytes.ts';
import type { Row, Query } from './driver.ts';
import { HEAD_COLUMNS, headOfRow } from './stream-rows.ts';

const NOT_FILTERED = '($2::smallint[] IS NULL OR s.partition = ANY ($2))';
const HEADS = (which: string): string =>
  `SELECT ${HEAD_COLUMNS} FROM refold.stream s WHERE s.session > $1 AND ${NOT_FILTERED} ${which} ORDER BY s.session LIMIT $3`;

/** Heads read in one step. */
const STEP = 1_000;

/** A page of sessions by id in byte order. Those that owe are found through their index; all others by examining heads. */
export async function selectSessions(query: Query, request: SessionsRequest): Promise<SessionPage> {
  const { limit, partitions, owing } = request;
  const statement = HEADS(owing === true ? 'AND s.owing' : '');
  const given = partitions === undefined ? null : smalls(partitions);
  const found: SessionHead[] = [];
  let after: string = request.after ?? '';
  for (let examined = 0; examined < SESSIONS_EXAMINED_MAX;) {
    const step = Math.min(STEP, SESSIONS_EXAMINED_MAX - examined);
    const rows = await query(statement, [after, given, step]);
    for (const head of rows.map(listed)) {
      if (matchesRequest(head, request)) found.push(head);
      if (found.length === limit) return { sessions: found, next: head.session_id };
    }
    if (rows.length < step) return { sessions: found, next: null };
    after = String(rows.at(-1)?.['session']);
    examined += step;
  }
  return { sessions: found, next: after as SessionId };
}

/** One head that cannot be read must not hide all other sessions. Whoever loads this one is refused with the reason. */
const listed = (row: Row): SessionHead =>
  headOfRow(row) ?? {
    session_id: row['session'] as SessionId,
    version: 0 as Version,
    owing: true,
    wake_at_ms: null,
    card: {
      title: 'damaged: its head cannot be read',
      status: 'idle',
      parent: null,
      last_activity_ms: 0,
      outcome: null,
    },
  };

const DUE = `
SELECT session, wake_at_ms FROM refold.stream
 WHERE wake_at_ms IS NOT NULL AND wake_at_ms <= $1 AND (wake_at_ms, session) > ($2::bigint, $3::text)
 ORDER BY wake_at_ms, session LIMIT $4`;

/** The first times that sessions wait for, in order of time and id: up to `untilMs`, after `after`. */
export async function selectDue(
  query: Query,
  untilMs: number,
  limit: number,
  after: Wake | null,
): Promise<readonly Wake[]> {
  const rows = await query(DUE, [untilMs, after?.at_ms ?? -1, after?.session_id ?? '', limit]);
  return rows.map(({ session, wake_at_ms }) => ({ session_id: session as SessionId, at_ms: Number(wake_at_ms) }));
}

export async function selectTombstones(
  query: Query,
  after: SessionId | null,
  limit: number,
): Promise<readonly Tombstone[]> {
  const rows = await query(
    'SELECT session, version, chain, deleted_at_ms FROM refold.tombstone WHERE session > $1 ORDER BY session LIMIT $2',
    [after ?? '', limit],
  );
  return rows.map(({ session, version, chain, deleted_at_ms }) => {
    const tombstone = {
      session_id: session,
      version,
      chain: chain === null ? null : storedDigest(chain),
      deleted_at_ms,
    };
    if (Tombstone.is(tombstone) && (chain === null || tombstone.chain !== null)) return tombstone;
    return refuse('damaged', `the tombstone of session ${String(session)} does not decode`);
  });
}
