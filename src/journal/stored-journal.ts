// A journal on any ordered key-value store. All writes go through one group commit; reads use only the store, so everything
// they return is durable.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Version } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Write } from './admission.ts';
import { checkRecords } from './append-rules.ts';
import { openCommitter } from './committer.ts';
import { openGroupCommit } from './group-commit.ts';
import type { Journal } from './journal.ts';
import { openMemorySnapshots } from './memory-snapshots.ts';
import { Refusal, catchRefusal, refuse } from './refusal.ts';
import { type Snapshots, guardSnapshots } from './snapshots.ts';
import { type StoreHandle, openStoreHandle } from './store-handle.ts';
import type { OpenStore, StoreView } from './store.ts';
import { encodeGenesis } from './stored-values.ts';
import { putsOfRecords } from './record-puts.ts';
import { findEvent, readGenesis, readRecords, readSessionCount, readSessions, requireHead } from './stream-reads.ts';

/** Memory that an append takes in the queue besides its puts: its head, its share of the trail, and their containers. */
const APPEND_OVERHEAD_BYTES = 512;

/**
 * Opens a journal on the store that `open` opens. `open` is called again after a failed write. Snapshots are kept
 * elsewhere, by default in memory.
 */
export const openStoredJournal = (open: OpenStore, snapshots = openMemorySnapshots()): TaskEither<Rejection, Journal> =>
  catchRefusal(async () => {
    const handle = await openStoreHandle(open);
    try {
      await handle.use((store) => store.view(readSessionCount));
    } catch (error) {
      await handle.close();
      throw error;
    }
    return journalOn(handle, snapshots);
  });

function journalOn(handle: StoreHandle, snapshots: Snapshots): Journal {
  const commits = openGroupCommit(openCommitter(handle));
  let closing = false;

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
    if (isLeft(answer)) throw new Refusal(answer.left);
    return answer.right;
  }

  return {
    // Not `map` over the commit: it would start one microtask later and lose its place in the queue.
    create: (session, genesis) =>
      accepting(async () => {
        const value = encodeGenesis(genesis);
        await commit({ kind: 'create', session, genesis: value }, value.length);
      }),
    append: (session, expected, records, owing) =>
      accepting(() => {
        const refused = checkRecords(session, records);
        if (refused !== null) throw new Refusal(refused);
        // Encoded before queueing, so that records that cannot be encoded fail only their own caller.
        const puts = putsOfRecords(session, expected, records);
        const bytes = puts.reduce((sum, { key, value }) => sum + key.length + value.length, APPEND_OVERHEAD_BYTES);
        const events = records.map(({ event_id }) => event_id);
        return commit({ kind: 'append', session, expected, events, puts, owing }, bytes);
      }),
    genesis: (session) => reading((view) => readGenesis(view, session)),
    read: (session, from, limit) => reading((view) => readRecords(view, session, from, limit)),
    head: (session) => reading((view) => requireHead(view, session)),
    find: (session, event) => reading((view) => findEvent(view, session, event)),
    sessions: () => reading(readSessions),
    snapshots: guardSnapshots(snapshots, () => closing),
    close: async () => {
      closing = true;
      await commits.settled();
      await handle.close();
    },
  };
}
