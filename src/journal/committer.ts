// Commits groups of writes: looks up the versions of their streams, admits writes, makes one write to the store, and
// answers each request according to what is on disk.
import * as E from 'fp-ts/lib/Either.js';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Admission, type StoredVersion, type StreamFacts, type Write, admitWrites } from './admission.ts';
import { eventKey } from './keys.ts';
import { type KnownStreams, newKnownStreams } from './known-streams.ts';
import { rejectionOf } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { Put, StoreView } from './store.ts';
import { locateEvent, readHead, readSessionCount } from './stream-reads.ts';
import { newTrailWriter } from './commit-trail.ts';

type Answer = Either<Rejection, Version>;
type Commit = (group: readonly Write[]) => Promise<readonly Answer[]>;

/** The only writer of its store. Commits one group at a time. */
export function openCommitter(handle: StoreHandle): Commit {
  const known = newKnownStreams();
  const trail = newTrailWriter();
  let sessionCount: number | null = null;

  /** Reads nothing when all facts are cached: a group of appends then costs exactly one write. */
  async function factsOf(group: readonly Write[]): Promise<StreamFacts> {
    const unread = group.filter(({ session }) => known.version(session) === undefined);
    const asked = idsToLookUp(group, known);
    const count = sessionCount;
    if (unread.length === 0 && asked.length === 0 && count !== null) return joinFacts(known, EMPTY, EMPTY_IDS, count);
    return await handle.use((store) =>
      store.view(async (view) => {
        const [sessions, held, counted] = await Promise.all([
          readVersions(view, unread),
          readHeld(view, asked),
          count ?? readSessionCount(view),
        ]);
        return joinFacts(known, sessions, held, counted);
      }),
    );
  }

  async function answerFailedWrite(
    group: readonly Write[],
    answers: readonly Answer[],
    failure: Rejection,
  ): Promise<readonly Answer[]> {
    known.forget();
    trail.forget();
    sessionCount = null;
    const stored = await versionsAfterFailure(handle, group);
    const code = failure.code === 'storage_full' ? 'storage_full' : 'storage_failed';
    const notRecorded = (): Rejection => reject(code, '', failure.message);
    return group.map(({ session }, index) =>
      pipe(
        answers[index] ?? left(notRecorded()),
        // A refusal may be due to an admitted write of this group that is not recorded now, so refused writes fail too.
        E.mapLeft(notRecorded),
        E.chain((version) =>
          pipe(
            stored.get(session) ?? right(null),
            E.mapLeft((cause) => outcomeUnknown(session, failure, cause)),
            // The group is atomic and there is no other writer: the stream is at this version only if the group is on disk.
            E.chain((at) => (at !== null && at >= version ? right(version) : left(notRecorded()))),
          ),
        ),
      ),
    );
  }

  return async (group) => {
    let admission: Admission;
    try {
      admission = admitWrites(group, await factsOf(group));
    } catch (error) {
      const failure = rejectionOf(error);
      return group.map(() => left(failure));
    }
    const { answers, versions } = admission;
    if (admission.puts.length === 0) return answers;
    const puts = [trail.put(versions), ...admission.puts];
    try {
      await handle.use((store) => store.write(puts));
    } catch (error) {
      return answerFailedWrite(group, answers, rejectionOf(error));
    }
    trail.written(versions, puts.length, bytesOf(puts));
    known.remember(
      group.filter((_, index) => answers[index]?._tag === 'Right'),
      versions,
    );
    ({ sessionCount } = admission);
    return answers;
  };
}

const idOf = (session: SessionId, event: EventId): string => `${session}\0${event}`;

const outcomeUnknown = (session: SessionId, failure: Rejection, cause: Rejection): Rejection =>
  reject(
    'storage_unknown',
    '',
    `a write to session ${session} failed (${failure.message}), and so did finding out whether it was recorded (${cause.message}); look the event id up`,
  );

const EMPTY: ReadonlyMap<SessionId, StoredVersion> = new Map();
const EMPTY_IDS: ReadonlySet<string> = new Set();

/** The cached facts, completed with those that were read. */
const joinFacts = (
  known: KnownStreams,
  sessions: ReadonlyMap<SessionId, StoredVersion>,
  held: ReadonlySet<string>,
  sessionCount: number,
): StreamFacts => ({
  versionOf: (session) => {
    const version = known.version(session);
    return version === undefined ? (sessions.get(session) ?? right(null)) : right(version);
  },
  holds: (session, event) => known.holds(session, event) ?? held.has(idOf(session, event)),
  sessionCount,
});

/** The stored version of each session of a group. */
async function readVersions(view: StoreView, group: readonly Write[]): Promise<ReadonlyMap<SessionId, StoredVersion>> {
  const sessions = [...new Set(group.map(({ session }) => session))];
  const read = sessions.map(async (session): Promise<[SessionId, StoredVersion]> => [
    session,
    await readVersion(view, session),
  ]);
  return new Map(await Promise.all(read));
}

/** A damaged stream must not fail the other streams of its group, so its rejection is returned, not thrown. */
async function readVersion(view: StoreView, session: SessionId): Promise<StoredVersion> {
  try {
    const head = await readHead(view, session);
    return right(head?.version ?? null);
  } catch (error) {
    return left(rejectionOf(error));
  }
}

interface AskedId {
  readonly session: SessionId;
  readonly event: EventId;
}

/** The event ids of a group that must be looked up in the store. */
const idsToLookUp = (group: readonly Write[], known: KnownStreams): readonly AskedId[] =>
  group.flatMap((write) => {
    if (write.kind !== 'append') return [];
    const { session, events } = write;
    return events.flatMap((event) => (known.holds(session, event) === undefined ? [{ session, event }] : []));
  });

/** The event ids among these that their streams already contain. */
async function readHeld(view: StoreView, asked: readonly AskedId[]): Promise<ReadonlySet<string>> {
  if (asked.length === 0) return EMPTY_IDS;
  const found = await view.getMany(asked.map(({ session, event }) => eventKey(session, event)));
  const held = await Promise.all(
    asked.map(async (one, index) => {
      const bytes = found[index];
      // Rare: only an index entry that exists must be compared with the event that it leads to.
      return bytes !== undefined && (await isHeld(view, one, bytes)) ? [idOf(one.session, one.event)] : [];
    }),
  );
  return new Set(held.flat());
}

/** A damaged stream must not fail the other streams of its group: when it cannot be read, its index is trusted. */
async function isHeld(view: StoreView, { session, event }: AskedId, indexed: Uint8Array): Promise<boolean> {
  try {
    const version = (await readHead(view, session))?.version ?? (0 as Version);
    return (await locateEvent(view, { session, event, version }, indexed)) !== null;
  } catch (error) {
    rejectionOf(error);
    return true;
  }
}

const bytesOf = (puts: readonly Put[]): number =>
  puts.reduce((sum, { key, value }) => sum + key.length + value.length, 0);

/** The stored versions after a failed write, read from the reopened store: only its recovery decides what is on disk. */
async function versionsAfterFailure(
  handle: StoreHandle,
  group: readonly Write[],
): Promise<ReadonlyMap<SessionId, StoredVersion>> {
  try {
    await handle.reopen();
    return await handle.use((store) => store.view((view) => readVersions(view, group)));
  } catch (error) {
    const cause = rejectionOf(error);
    return new Map(group.map(({ session }) => [session, left(cause)]));
  }
}
