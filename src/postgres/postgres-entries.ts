// Every entry of the journal as of one moment, for a backup: in the keys and values of the journal on LevelDB, so that a
// backup is one whatever the journal is in, and restores into a data directory.
import type { Digest, SessionId } from '../../schemas/ids.ts';
import { BACKUP_ENTRIES, READ_PAGE_BYTES } from '../../schemas/limits.ts';
import { isIncomplete } from '../../schemas/session-head.ts';
import { putsOfCommit } from '../journal/commit-puts.ts';
import { NOT_INDEXED, indexChanges } from '../journal/head-index.ts';
import type { SessionHead } from '../journal/journal.ts';
import { META_KEY, genesisKey, headKey, packageKey, pageKey, tombstoneKey } from '../journal/keys.ts';
import { Refusal } from '../journal/refusal.ts';
import type { Put } from '../journal/store.ts';
import { encodeHead, encodeMeta, encodeStoredGenesis, encodeText, encodeTombstone } from '../journal/stored-values.ts';
import { commitOfRow } from './commit-rows.ts';
import { storedDigest } from './digest-bytes.ts';
import { type Connection, type Row, isLost } from './driver.ts';
import { selectTombstones } from './session-rows.ts';
import { HEAD_COLUMNS, headOfRow } from './stream-rows.ts';

/** Opens a connection of its own, so that a reader that is slow holds no other back. */
export async function* postgresEntries(connect: () => Promise<Connection>): AsyncGenerator<readonly Put[]> {
  const connection = await connect();
  try {
    await connection.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
    yield* pagesOf(putsFrom(connection));
  } catch (error) {
    throw isLost(error) ? closed(error.message) : error;
  } finally {
    await connection.end();
  }
}

const closed = (why: string): Refusal =>
  new Refusal({ code: 'storage_failed', path: '', message: `${why}; back up again` });

async function* pagesOf(puts: AsyncIterable<Put>): AsyncGenerator<readonly Put[]> {
  let page: Put[] = [];
  let bytes = 0;
  for await (const put of puts) {
    page.push(put);
    bytes += put.value.length;
    if (page.length < BACKUP_ENTRIES && bytes < READ_PAGE_BYTES) continue;
    yield page;
    [page, bytes] = [[], 0];
  }
  if (page.length > 0) yield page;
}

async function* putsFrom(connection: Connection): AsyncGenerator<Put> {
  const [count] = await connection.query('SELECT count(*)::integer AS sessions FROM refold.stream');
  yield { key: META_KEY, value: encodeMeta(Number(count?.['sessions'])) };
  for await (const row of cursor(connection, 'SELECT digest, content FROM refold.package')) {
    const digest: Digest | null = storedDigest(row['digest']);
    if (digest !== null) yield { key: packageKey(digest), value: encodeText(String(row['content'])) };
  }
  for await (const row of cursor(connection, 'SELECT digest, content FROM refold.page')) {
    const digest: Digest | null = storedDigest(row['digest']);
    if (digest !== null) yield { key: pageKey(digest), value: row['content'] as Uint8Array };
  }
  for await (const row of cursor(connection, STREAMS)) yield* putsOfStream(row);
  for await (const row of cursor(connection, COMMITS)) {
    const commit = commitOfRow(row);
    // The session is damaged, and the copy of it is found to be so; the others are whole.
    if (commit !== null) yield* putsOfCommit(row['session'] as SessionId, commit);
  }
  for (let after: SessionId | null = null; ;) {
    const tombstones = await selectTombstones(connection.query, after, BACKUP_ENTRIES);
    for (const one of tombstones) yield { key: tombstoneKey(one.session_id), value: encodeTombstone(one) };
    const last = tombstones.at(-1);
    if (last === undefined) return;
    after = last.session_id;
  }
}

const STREAMS = `SELECT ${HEAD_COLUMNS}, g.content FROM refold.stream s LEFT JOIN refold.genesis g ON g.stream = s.id`;
const COMMITS = `SELECT s.session, c.* FROM refold.stream s JOIN refold.commit c ON c.stream = s.id`;

const damagedHead = (session: SessionId): Refusal =>
  new Refusal({ code: 'damaged', path: '', message: `the head of session ${session} does not decode` });

function* putsOfStream(row: Row): Generator<Put> {
  const session = row['session'] as SessionId;
  const head: SessionHead | null = headOfRow(row);
  if (head === null) throw damagedHead(session);
  yield { key: headKey(session), value: encodeHead(head) };
  for (const change of indexChanges(session, NOT_INDEXED, head)) {
    if (change.value !== null) yield { key: change.key, value: change.value };
  }
  const { content } = row;
  if (typeof content === 'string') {
    yield { key: genesisKey(session), value: encodeStoredGenesis({ text: content, isComplete: !isIncomplete(head) }) };
  }
}

/** The rows of a statement, a page at a time. */
async function* cursor(connection: Connection, statement: string): AsyncGenerator<Row> {
  await connection.query(`DECLARE entries NO SCROLL CURSOR FOR ${statement}`);
  for (;;) {
    const rows = await connection.query(`FETCH ${BACKUP_ENTRIES} FROM entries`);
    yield* rows;
    if (rows.length < BACKUP_ENTRIES) break;
  }
  await connection.query('CLOSE entries');
}
