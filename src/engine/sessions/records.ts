// Reads a stream as records, as it is exported and followed; and the stored form of its commits.
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import { decode } from '../../../schemas/codec.ts';
import type { Position, SessionId } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import type { CommitRecord, GenesisRecord, PackageRecord } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import { RecordedEvent } from '../../../schemas/upcast.ts';
import type { SealedPage } from '../../../reducers/transcript.ts';
import { genesisChain } from '../../core/chain.ts';
import { initialState } from '../../core/initial-state.ts';
import { stateDigest } from '../../core/state-digest.ts';
import type { Pause } from '../../turns.ts';
import type { Journal, JournalCommit, JournalEvent, StoredPage } from '../../journal/journal.ts';
import { loadOrigin } from './load-session.ts';

type Answer<T> = Promise<E.Either<Rejection, T>>;

/** The records of a stream before its first commit. */
export const firstRecords = (
  journal: Journal,
  pause: Pause,
  id: SessionId,
): Answer<readonly [PackageRecord, GenesisRecord]> =>
  pipe(
    () => loadOrigin(journal, pause, id),
    TE.chainFirstTaskK(() => async () => {
      await pause();
    }),
    TE.map(({ genesis, tool_package }): readonly [PackageRecord, GenesisRecord] => {
      const initial = initialState(genesis, tool_package);
      const digests = { state_digest: stateDigest(initial), chain: genesisChain(initial) };
      return [
        { kind: 'package', digest: genesis.tool_package_digest, tool_package },
        { kind: 'genesis', format: 2, genesis, ...digests },
      ];
    }),
  )();

/**
 * The commits from the one that contains `from` on, until they contain `limit` events from there. Events are not upcast,
 * because digests cover the stored text.
 */
export const commitRecords = (
  journal: Journal,
  pause: Pause,
  id: SessionId,
  { from, limit }: { readonly from: Position; readonly limit: number },
): Answer<readonly CommitRecord[]> =>
  pipe(
    journal.read(id, from, limit),
    TE.chain((commits) => () => recordsFrom(pause, id, commits)),
  )();

/** The records of stored commits. */
export async function recordsFrom(
  pause: Pause,
  id: SessionId,
  commits: readonly JournalCommit[],
): Answer<readonly CommitRecord[]> {
  const records: CommitRecord[] = [];
  for (const commit of commits) {
    const record = await toRecord(pause, id, commit);
    if (E.isLeft(record)) return record;
    records.push(record.right);
  }
  return E.right(records);
}

/** The event at a position; null when the stream has no such position. */
export const recordedEvent = (journal: Journal, id: SessionId, position: Position): Answer<RecordedEvent | null> =>
  pipe(
    journal.read(id, position, 1),
    TE.chainEitherK(([commit]) => {
      const stored = commit?.events[position - commit.position];
      return stored === undefined ? E.right(null) : parseEvent(id, position, stored);
    }),
  )();

/** One event at a time: several merged requests are one commit of megabytes. */
async function toRecord(
  pause: Pause,
  id: SessionId,
  { position, events, state_digest, chain }: JournalCommit,
): Answer<CommitRecord> {
  const parsed: RecordedEvent[] = [];
  for (const [index, stored] of events.entries()) {
    const rest = pause();
    if (rest !== null) await rest;
    const event = parseEvent(id, (position + index) as Position, stored);
    if (E.isLeft(event)) return event;
    parsed.push(event.right);
  }
  return E.right({ kind: 'commit', position, events: parsed, state_digest, chain });
}

const parseEvent = (id: SessionId, position: Position, { text }: JournalEvent): E.Either<Rejection, RecordedEvent> =>
  pipe(
    parseJson(text, BLOB_BYTES_MAX),
    E.chain((json) => decode(RecordedEvent, json)),
    E.mapLeft(({ message }) => reject('damaged', '', `session ${id}, position ${position}: ${message}`)),
  );

/** An event as the journal stores it. */
export const storedEvent = (event: RecordedEvent): JournalEvent => ({
  text: canonicalText(event),
  event_id: event.event_id,
});

/** A commit as the journal stores it. */
export const storedCommit = ({ position, events, state_digest, chain }: CommitRecord): JournalCommit => ({
  position,
  events: events.map(storedEvent),
  state_digest,
  chain,
});

/** A page in its stored form. */
export const storedPage = ({ ref, text }: SealedPage): StoredPage => ({
  digest: ref,
  bytes: new TextEncoder().encode(text),
});
