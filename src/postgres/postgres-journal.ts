// The journal in PostgreSQL: composes the lanes that write, the reads, snapshots and tenures.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { HeadFacts } from '../../schemas/session-head.ts';
import { checkCommits, checkHead } from '../journal/append-rules.ts';
import type { Journal, StoredPage } from '../journal/journal.ts';
import { partitionOf } from '../journal/partition.ts';
import { Refusal, refuse } from '../journal/refusal.ts';
import { guardSnapshots } from '../journal/snapshots.ts';
import { requireLines, requireStorable } from './commit-rows.ts';
import { damagedTombstone } from './damaged-stream.ts';
import type { Connect, Query } from './driver.ts';
import { openLane } from './lane.ts';
import type { Pool } from './pool.ts';
import { postgresEntries } from './postgres-entries.ts';
import { removePages, selectPage, selectPages } from './page-rows.ts';
import { type Tasks, openPostgresSnapshots } from './postgres-snapshots.ts';
import { catchLost } from './refused.ts';
import { selectDue, selectSessions, selectTombstones } from './session-rows.ts';
import {
  selectEvent,
  selectCommits,
  selectGenesis,
  selectGenesisOfCopy,
  selectHead,
  selectPackage,
} from './stream-rows.ts';
import { sweepRows, unsweptRows } from './sweep.ts';
import type { Tenures } from './tenures.ts';
import type { StreamWrite } from './writes.ts';

/** Writes go over this many connections, each with partitions of its own. */
const LANES = 2;

/** Memory that a write takes in the queue besides its texts. */
const WRITE_OVERHEAD_BYTES = 512;

export interface JournalPorts {
  readonly connect: Connect;
  /** For reads; the owner closes it after the journal. */
  readonly pool: Pool;
  readonly tenures: Tenures;
  readonly onWrite: (took: number) => void;
}

/** Opens the journal and completes the deletions that were interrupted. */
export async function openPostgresJournal(ports: JournalPorts): Promise<Journal> {
  const { pool } = ports;
  for (const session of await unsweptRows(pool.query)) await sweepRows(pool, session);
  return journalOn(ports);
}

function journalOn(ports: JournalPorts): Journal {
  const { connect, pool, tenures } = ports;
  const lanes = Array.from({ length: LANES }, () => openLane(ports));
  let closing: Promise<void> | null = null;

  const accepting: Tasks = (work) =>
    catchLost(() => {
      if (closing !== null) refuse('closing', 'the journal is closing');
      return work();
    });

  /** Reads that show whether a write was recorded: after a write that was cut off, only a raised epoch makes them final. */
  const ofSession = <T>(session: SessionId, work: (query: Query) => Promise<T>): TaskEither<Rejection, T> =>
    accepting(async () => {
      await tenures.settle([partitionOf(session)]);
      return await work(pool.query);
    });

  async function commit(write: StreamWrite, bytes: number): Promise<Version> {
    const lane = lanes[write.partition % LANES];
    if (lane === undefined) return refuse('internal', 'a partition without a connection');
    const answer = await lane.submit(write, bytes + WRITE_OVERHEAD_BYTES);
    if (isLeft(answer)) throw new Refusal(answer.left);
    return answer.right;
  }

  const snapshots = openPostgresSnapshots(pool.query, catchLost);
  return {
    ...writesOf({ accepting, commit, pool }),
    ...readsOf({ accepting, ofSession, query: pool.query }),
    entries: () => postgresEntries(connect),
    probe: () => accepting(() => probe(pool.query)),
    snapshots: guardSnapshots(snapshots, () => closing !== null),
    close: () => (closing ??= Promise.all(lanes.map((lane) => lane.close())).then(() => undefined)),
  };
}

interface WritePorts {
  readonly accepting: Tasks;
  readonly commit: (write: StreamWrite, bytes: number) => Promise<Version>;
  readonly pool: Pool;
}

type Writes = Pick<Journal, 'create' | 'append' | 'restate' | 'delete' | 'deleteDamaged' | 'deletePages'>;

const writesOf = ({ accepting, commit, pool }: WritePorts): Writes => ({
  create: (session, genesis, tool_package, head) =>
    accepting(async () => {
      requireReadable(session, head);
      requireStorable('a genesis to store', genesis);
      requireStorable('a tool package to store', tool_package.text);
      const write = { kind: 'create', session, partition: partitionOf(session), genesis, tool_package, head } as const;
      await commit(write, genesis.length + tool_package.text.length);
    }),
  append: (session, commits, head, pages = []) =>
    accepting(async () => {
      const refused = checkCommits(session, commits);
      if (refused !== null) throw new Refusal(refused);
      requireReadable(session, head);
      requireLines(commits);
      const bytes = commits.reduce((sum, { events }) => events.reduce((all, { text }) => all + text.length, sum), 0);
      const expected = (commits[0]?.position ?? 0) as number as Version;
      const write = {
        kind: 'append',
        session,
        partition: partitionOf(session),
        expected,
        commits,
        head,
        pages,
      } as const;
      return await commit(write, bytes + bytesOf(pages));
    }),
  restate: (session, expected, head, pages = []) =>
    accepting(async () => {
      requireReadable(session, head);
      const write = {
        kind: 'append',
        session,
        partition: partitionOf(session),
        expected,
        commits: [],
        head,
        pages,
      } as const;
      await commit(write, bytesOf(pages));
    }),
  deletePages: (digests) => accepting(() => removePages(pool.query, digests)),
  delete: (tombstone) =>
    accepting(async () => {
      const session = tombstone.session_id;
      await commit({ kind: 'delete', session, partition: partitionOf(session), tombstone, whatever: false }, 0);
      await sweepRows(pool, session);
    }),
  deleteDamaged: (session, deletedAtMs) =>
    accepting(async () => {
      const tombstone = await damagedTombstone(pool.query, session, deletedAtMs);
      await commit({ kind: 'delete', session, partition: partitionOf(session), tombstone, whatever: true }, 0);
      await sweepRows(pool, session);
      return tombstone;
    }),
});

const bytesOf = (pages: readonly StoredPage[]): number => pages.reduce((sum, { bytes }) => sum + bytes.length, 0);

interface ReadPorts {
  readonly accepting: Tasks;
  readonly ofSession: <T>(session: SessionId, work: (query: Query) => Promise<T>) => TaskEither<Rejection, T>;
  readonly query: Query;
}

type Reads = Pick<
  Journal,
  | 'genesis'
  | 'genesisOfCopy'
  | 'toolPackage'
  | 'page'
  | 'pages'
  | 'read'
  | 'head'
  | 'find'
  | 'tombstones'
  | 'sessions'
  | 'due'
>;

const readsOf = ({ accepting, ofSession, query }: ReadPorts): Reads => ({
  genesis: (session) => ofSession(session, (asked) => selectGenesis(asked, session)),
  genesisOfCopy: (session) => ofSession(session, (asked) => selectGenesisOfCopy(asked, session)),
  toolPackage: (digest) => accepting(() => selectPackage(query, digest)),
  page: (digest) => accepting(() => selectPage(query, digest)),
  pages: (after, limit) => accepting(() => selectPages(query, after, limit)),
  read: (session, from, limit) => ofSession(session, (asked) => selectCommits(asked, session, from, limit)),
  head: (session) => ofSession(session, (asked) => selectHead(asked, session)),
  find: (session, event) => ofSession(session, (asked) => selectEvent(asked, session, event)),
  tombstones: (after, limit) => accepting(() => selectTombstones(query, after, limit)),
  sessions: (request) => accepting(() => selectSessions(query, request)),
  due: (untilMs, limit, after) => accepting(() => selectDue(query, untilMs, limit, after ?? null)),
});

function requireReadable(session: SessionId, head: HeadFacts): void {
  const refused = checkHead(session, head);
  if (refused !== null) throw new Refusal(refused);
}

async function probe(query: Query): Promise<void> {
  const [row] = await query('SELECT pg_is_in_recovery() AS is_standby');
  if (row?.['is_standby'] !== true) return;
  throw new Refusal(
    reject('storage_failed', '', 'the database is a standby now, which takes no writes; name the primary'),
  );
}
