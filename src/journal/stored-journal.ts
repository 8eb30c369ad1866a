// A journal on any ordered key-value store. All writes go through one group commit; reads use only the store, so everything
// they return is durable.
import { Buffer } from 'node:buffer';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, invariant } from '../../schemas/rejection.ts';
import type { HeadFacts } from '../../schemas/session-head.ts';
import type { AppendWrite, Write } from './admission.ts';
import { checkCommits, checkHead } from './append-rules.ts';
import { openCommitter } from './committer.ts';
import { damagedDeletion } from './damaged-deletion.ts';
import { pageKey, sweepKey } from './keys.ts';
import { openGroupCommit } from './group-commit.ts';
import type { Journal, JournalCommit, StoredPage } from './journal.ts';
import { openMemorySnapshots } from './memory-snapshots.ts';
import { Refusal, catchRefusal, refuse, rejectionOf } from './refusal.ts';
import { type Snapshots, guardSnapshots } from './snapshots.ts';
import { sweepSession, unsweptSessions } from './session-sweep.ts';
import { storedEntries } from './stored-entries.ts';
import { type StoreHandle, openStoreHandle } from './store-handle.ts';
import { deletePages, putsOfPages, readPages } from './stored-pages.ts';
import type { OpenStore, Put, Removal, StoreView } from './store.ts';
import { encodeText } from './stored-values.ts';
import { putsOfCommit } from './commit-puts.ts';
import { readDue, readSessions } from './session-pages.ts';
import {
  findEvent,
  readCommits,
  readGenesis,
  readGenesisOfCopy,
  readPackage,
  readSessionCount,
  readTombstones,
  requireHead,
} from './stream-reads.ts';

/** Memory that an append takes in the queue besides its puts: its head, its share of the trail, and their containers. */
const APPEND_OVERHEAD_BYTES = 512;

/** What an append takes in the queue. */
const bytesOf = (puts: readonly Put[]): number =>
  puts.reduce((sum, { key, value }) => sum + key.length + value.length, APPEND_OVERHEAD_BYTES);

/** Removals that belong to no session. */
const sweepOf = (removals: readonly Removal[]): Write => ({ kind: 'sweep', session: '' as SessionId, removals });

/** A write that changes nothing: no session has an empty id. */
const PROBE = sweepOf([{ key: sweepKey('' as SessionId), value: null }]);

export interface StoredJournal extends Journal {
  /** What the operator should know about it. */
  readonly notices: readonly string[];
}

/**
 * Opens a journal on the store that `open` opens. `open` is called again after a failed write. Snapshots are kept
 * elsewhere, by default in memory.
 */
export const openStoredJournal = (
  open: OpenStore,
  snapshots = openMemorySnapshots(),
): TaskEither<Rejection, StoredJournal> =>
  catchRefusal(async () => {
    const handle = await openStoreHandle(open);
    try {
      await handle.use((store) => store.view(readSessionCount));
    } catch (error) {
      await handle.close();
      throw error;
    }
    const { journal, sweep } = journalOn(handle, snapshots);
    return { ...journal, notices: await completeSweeps(handle, sweep) };
  });

/** Returns what the operator should know of the sweeps that could not be completed; a full disk does not stop an opening. */
async function completeSweeps(
  handle: StoreHandle,
  sweep: (session: SessionId) => Promise<void>,
): Promise<readonly string[]> {
  const notices: string[] = [];
  for (const session of await handle.use((store) => store.view(unsweptSessions))) {
    try {
      await sweep(session);
    } catch (error) {
      notices.push(
        `the entries of the deleted session ${session} are still in the journal: ${rejectionOf(error).message}`,
      );
    }
  }
  return notices;
}

interface Opened {
  readonly journal: Journal;
  readonly sweep: (session: SessionId) => Promise<void>;
}

type Reading = <T>(work: (view: StoreView) => Promise<T>) => TaskEither<Rejection, T>;

type Reads = Pick<
  Journal,
  | 'page'
  | 'pages'
  | 'tombstones'
  | 'genesis'
  | 'genesisOfCopy'
  | 'toolPackage'
  | 'read'
  | 'head'
  | 'find'
  | 'sessions'
  | 'due'
>;

const readsOf = (reading: Reading): Reads => ({
  tombstones: (after, limit) => reading((view) => readTombstones(view, after, limit)),
  genesis: (session) => reading((view) => readGenesis(view, session)),
  genesisOfCopy: (session) => reading((view) => readGenesisOfCopy(view, session)),
  toolPackage: (digest) => reading((view) => readPackage(view, digest)),
  page: (digest) => reading(async (view) => (await view.get(pageKey(digest))) ?? null),
  pages: (after, limit) => reading((view) => readPages(view, after, limit)),
  read: (session, from, limit) => reading((view) => readCommits(view, session, from, limit)),
  head: (session) => reading((view) => requireHead(view, session)),
  find: (session, event) => reading((view) => findEvent(view, session, event)),
  sessions: (request) => reading((view) => readSessions(view, request)),
  due: (untilMs, limit, after) => reading((view) => readDue(view, untilMs, limit, after ?? null)),
});

/** Whether the store can only be read; refuses when its files are not in their place. */
const isReadOnly = (handle: StoreHandle): Promise<boolean> =>
  handle.use(async (store) => {
    if (store.isReadOnly !== true) store.check();
    return store.isReadOnly === true;
  });

interface DeletionPorts {
  readonly handle: StoreHandle;
  readonly accepting: <T>(work: () => Promise<T>) => TaskEither<Rejection, T>;
  readonly commit: (write: Write, bytes: number) => Promise<Version>;
  readonly sweep: (session: SessionId) => Promise<void>;
}

const deletionsOf = ({
  handle,
  accepting,
  commit,
  sweep,
}: DeletionPorts): Pick<Journal, 'delete' | 'deleteDamaged'> => ({
  delete: (tombstone) =>
    accepting(async () => {
      const session = tombstone.session_id;
      await commit({ kind: 'delete', session, tombstone }, APPEND_OVERHEAD_BYTES);
      await sweep(session);
    }),
  deleteDamaged: (session, deletedAtMs) =>
    accepting(async () => {
      const write = await handle.use((store) => store.view((view) => damagedDeletion(view, session, deletedAtMs)));
      await commit(write, APPEND_OVERHEAD_BYTES);
      await sweep(session);
      return write.tombstone;
    }),
});

function requireReadable(session: SessionId, head: HeadFacts): void {
  const refused = checkHead(session, head);
  if (refused !== null) throw new Refusal(refused);
}

/** The write of an append, without its head. */
function encoded(
  session: SessionId,
  commits: readonly JournalCommit[],
  pages: readonly StoredPage[],
): Omit<AppendWrite, 'head'> {
  const puts = [...commits.flatMap((one) => putsOfCommit(session, one)), ...putsOfPages(pages)];
  const events = commits.flatMap((one) => one.events.map(({ event_id }) => event_id));
  const expected = (commits[0]?.position ?? 0) as number as Version;
  return { kind: 'append', session, expected, events, puts };
}

function journalOn(handle: StoreHandle, snapshots: Snapshots): Opened {
  const commits = openGroupCommit(openCommitter(handle));
  let closing = false;
  /** Whether storage refused the last write. */
  let failing = false;

  /** Runs `work` unless the journal is closing. */
  const accepting = <T>(work: () => Promise<T>): TaskEither<Rejection, T> =>
    catchRefusal(() => {
      if (closing) refuse('closing', 'the journal is closing');
      return work();
    });

  const reading = <T>(work: (view: StoreView) => Promise<T>): TaskEither<Rejection, T> =>
    accepting(() => handle.use((store) => store.view(work)));

  async function commit(write: Write, bytes: number): Promise<Version> {
    const answer = await commits.submit(write, bytes);
    failing = isLeft(answer) && answer.left.code.startsWith('storage_');
    if (isLeft(answer)) throw new Refusal(answer.left);
    return answer.right;
  }

  const commitSweep = async (write: Write): Promise<void> => void (await commit(write, APPEND_OVERHEAD_BYTES));
  const sweep = (session: SessionId): Promise<void> =>
    sweepSession({ handle, snapshots, commit: commitSweep }, session);

  const journal: Journal = {
    // Not `map` over the commit: it would start one microtask later and lose its place in the queue.
    create: (session, genesis, { digest, text }, head) =>
      accepting(async () => {
        requireReadable(session, head);
        invariant(genesis.isWellFormed(), 'a genesis to store is not well-formed');
        const value = encodeText(text);
        await commit(
          { kind: 'create', session, genesis, tool_package: { digest, value }, head },
          Buffer.byteLength(genesis) + value.length,
        );
      }),
    append: (session, commits, head, pages = []) =>
      accepting(() => {
        const refused = checkCommits(session, commits);
        if (refused !== null) throw new Refusal(refused);
        requireReadable(session, head);
        // Encoded before queueing, so that commits that cannot be encoded fail only their own caller.
        const write = { ...encoded(session, commits, pages), head };
        return commit(write, bytesOf(write.puts));
      }),
    restate: (session, expected, head, pages = []) =>
      accepting(async () => {
        requireReadable(session, head);
        const puts = putsOfPages(pages);
        await commit({ kind: 'restate', session, expected, puts, head }, bytesOf(puts));
      }),
    deletePages: (digests) =>
      accepting(() => deletePages(handle, (removals) => commitSweep(sweepOf(removals)), digests)),
    ...deletionsOf({ handle, accepting, commit, sweep }),
    entries: () => storedEntries(handle),
    probe: () =>
      accepting(async () => {
        if ((await isReadOnly(handle)) || failing) await commit(PROBE, APPEND_OVERHEAD_BYTES);
      }),
    ...readsOf(reading),
    snapshots: guardSnapshots(snapshots, () => closing),
    close: async () => {
      closing = true;
      await commits.settled();
      await handle.close();
    },
  };
  return { journal, sweep };
}
