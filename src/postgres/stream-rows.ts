// Reads streams, each from one statement and so from one moment. What is written together is compared: rows that were
// changed or removed by hand are refused as `damaged`, with their position, and other sessions go on.
import type { Digest, EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import { READ_PAGE_BYTES, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { versionAfter } from '../../schemas/record.ts';
import { HeadFacts, isIncomplete } from '../../schemas/session-head.ts';
import { copyIncomplete, packageLost, sessionDeleted, sessionExists, unknownSession } from '../journal/append-rules.ts';
import type { JournalCommit, SessionHead } from '../journal/journal.ts';
import { Refusal, refuse } from '../journal/refusal.ts';
import { commitOfRow } from './commit-rows.ts';
import { digestBytes } from './digest-bytes.ts';
import type { Row, Query } from './driver.ts';
import { eventKeysOf } from './event-key.ts';

/** The columns of a head, of the table `s`. */
export const HEAD_COLUMNS = 's.session, s.version, s.owing, s.wake_at_ms, s.status, s.card';

/** Null when the row does not decode. */
export function headOfRow(row: Row): SessionHead | null {
  const { session, version, owing, wake_at_ms, status, card } = row;
  const facts: unknown = { owing, wake_at_ms, card: cardOf(card) };
  if (!HeadFacts.is(facts) || facts.card.status !== status) return null;
  return { session_id: session as SessionId, version: version as Version, ...facts };
}

function cardOf(text: unknown): unknown {
  try {
    return JSON.parse(String(text));
  } catch {
    return null;
  }
}

/** What no stream of this id means. */
async function absent(query: Query, session: SessionId): Promise<Refusal> {
  const [tombstone] = await query('SELECT FROM refold.tombstone WHERE session = $1', [session]);
  return new Refusal(tombstone === undefined ? unknownSession(session) : sessionDeleted(session));
}

const END = `(SELECT c.position + c.count FROM refold.commit c WHERE c.stream = s.id ORDER BY c.position DESC LIMIT 1)`;
const HEAD = `SELECT ${HEAD_COLUMNS}, coalesce(${END}, 0) AS held FROM refold.stream s WHERE s.session = $1`;

export async function selectHead(query: Query, session: SessionId): Promise<SessionHead> {
  const [row] = await query(HEAD, [session]);
  if (row === undefined) throw await absent(query, session);
  const head = headOfRow(row);
  if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
  if (row['held'] !== head.version) {
    refuse(
      'damaged',
      `the head of session ${session} is at version ${head.version}, but its commits end at ${String(row['held'])}`,
    );
  }
  return head;
}

interface StoredGenesis {
  readonly text: string;
  readonly isComplete: boolean;
}

const GENESIS = `SELECT ${HEAD_COLUMNS}, g.content FROM refold.stream s LEFT JOIN refold.genesis g ON g.stream = s.id WHERE s.session = $1`;

async function readStoredGenesis(query: Query, session: SessionId): Promise<StoredGenesis> {
  const [row] = await query(GENESIS, [session]);
  if (row === undefined) throw await absent(query, session);
  const head = headOfRow(row);
  if (head === null) return refuse('damaged', `the head of session ${session} does not decode`);
  if (typeof row['content'] !== 'string') return refuse('damaged', `session ${session} has no genesis`);
  return { text: row['content'], isComplete: !isIncomplete(head) };
}

export async function selectGenesis(query: Query, session: SessionId): Promise<string> {
  const { text, isComplete } = await readStoredGenesis(query, session);
  if (!isComplete) throw new Refusal(copyIncomplete(session));
  return text;
}

export async function selectGenesisOfCopy(query: Query, session: SessionId): Promise<string> {
  const { text, isComplete } = await readStoredGenesis(query, session);
  if (isComplete) throw new Refusal(sessionExists(session));
  return text;
}

export async function selectPackage(query: Query, digest: Digest): Promise<string> {
  const [row] = await query('SELECT content FROM refold.package WHERE digest = $1', [digestBytes(digest)]);
  if (typeof row?.['content'] !== 'string') throw new Refusal(packageLost(digest));
  return row['content'];
}

// The commit that contains the first position may begin before it. Only the commits up to the one with which their bytes
// reach the limit are taken from the table: the sizes of the others are known without their texts.
const READ = `
SELECT s.version, c.*
  FROM refold.stream s
  LEFT JOIN LATERAL (
    SELECT position, count, state_digest, chain, event_ids, events
      FROM (
        SELECT n.*, sum(octet_length(n.events)) OVER (ORDER BY n.position) - octet_length(n.events) AS before
          FROM (
            SELECT * FROM refold.commit
             WHERE stream = s.id AND position < $3 AND position >= coalesce((
               SELECT f.position FROM refold.commit f
                WHERE f.stream = s.id AND f.position <= $2 ORDER BY f.position DESC LIMIT 1), 0)
             ORDER BY position) AS n
      ) AS sized
     WHERE before < $4) AS c ON true
 WHERE s.session = $1
 ORDER BY c.position`;

export async function selectCommits(
  query: Query,
  session: SessionId,
  from: Position,
  limit: number,
): Promise<readonly JournalCommit[]> {
  const most = Math.max(0, Math.min(limit, READ_PAGE_EVENTS));
  // A commit after the end is read too: the head is compared with it.
  const rows = await query(READ, [session, from, from + most, READ_PAGE_BYTES]);
  const version = rows[0]?.['version'];
  if (typeof version !== 'number') throw await absent(query, session);
  const commits: JournalCommit[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (row['position'] === null || most === 0) continue;
    const commit = commitOfRow(row);
    if (commit === null) {
      return refuse(
        'damaged',
        `the commit at position ${Number(row['position'])} of session ${session} does not decode`,
      );
    }
    if (versionAfter(commit) <= from) continue;
    const expected =
      commits.length === 0 ? Math.min(from, commit.position) : versionAfter(commits.at(-1) as JournalCommit);
    if (commit.position !== (expected as Position)) refuse('damaged', `session ${session} has no event ${expected}`);
    commits.push(commit);
    bytes += Buffer.byteLength(String(row['events']));
  }
  checkEnd({ session, version, from, end: Math.min(from + most, version), isFull: bytes >= READ_PAGE_BYTES }, commits);
  return commits;
}

interface Page {
  readonly session: SessionId;
  readonly version: number;
  readonly from: number;
  /** The first position that it need not reach. */
  readonly end: number;
  readonly isFull: boolean;
}

function checkEnd({ session, version, from, end, isFull }: Page, commits: readonly JournalCommit[]): void {
  const last = commits.at(-1);
  const next = last === undefined ? from : versionAfter(last);
  if (next < end && !isFull) refuse('damaged', `session ${session} has no event ${next}`);
  if (last !== undefined && next > version) {
    refuse('damaged', `the head of session ${session} is at version ${version}, but its commits go on to ${next}`);
  }
}

const FIND = `
SELECT i.position, c.position AS first, c.count, c.state_digest, c.chain, c.event_ids, c.events
  FROM refold.stream s
  LEFT JOIN refold.event_id i ON i.key = $2::uuid
  LEFT JOIN LATERAL (
    SELECT * FROM refold.commit n WHERE n.stream = s.id AND n.position <= i.position ORDER BY n.position DESC LIMIT 1
  ) AS c ON true
 WHERE s.session = $1`;

export async function selectEvent(query: Query, session: SessionId, event: EventId): Promise<Position | null> {
  const [row] = await query(FIND, [session, eventKeysOf(session)(event).toString('hex')]);
  if (row === undefined) throw await absent(query, session);
  const { position, first } = row;
  if (typeof position !== 'number') return null;
  const commit = typeof first === 'number' ? commitOfRow({ ...row, position: first }) : null;
  if (commit?.events[position - commit.position]?.event_id === event) return position as Position;
  return refuse(
    'damaged',
    `session ${session} has no event ${event} at position ${position}, where its index names it`,
  );
}
