// Commits groups of writes: looks up the heads of their streams, admits writes, makes one write to the store, and
// answers each request according to what is on disk.
import * as E from 'fp-ts/lib/Either.js';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import type { Digest, EventId, SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Admission, type StoredHeadOf, type StreamFacts, type Write, admitWrites } from './admission.ts';
import { unknownSession } from './append-rules.ts';
import { eventKey, packageKey } from './keys.ts';
import { completedCopies, knownIn, readGeneses } from './completed-copies.ts';
import { type KnownStreams, newKnownStreams } from './known-streams.ts';
import { rejectionOf } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { Change, StoreView } from './store.ts';
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
    const unread = group.filter(({ session }) => known.head(session) === undefined);
    const asked = idsToLookUp(group, known);
    const unknown = packagesToLookUp(group, known);
    const count = sessionCount;
    const completes = completedCopies(group, (session) => known.head(session)).length > 0;
    if (unread.length + asked.length + unknown.length === 0 && !completes && count !== null) {
      return joinFacts(known, { ...NOTHING_READ, sessionCount: count });
    }
    return await handle.use((store) =>
      store.view(async (view) => {
        const [sessions, held, packages, counted] = await Promise.all([
          readKnownHeads(view, unread),
          readHeld(view, asked),
          readPackages(view, unknown),
          count ?? readSessionCount(view),
        ]);
        const completed = completedCopies(group, (session) => known.head(session) ?? knownIn(sessions, session));
        const geneses = completed.length === 0 ? NOTHING_READ.geneses : await readGeneses(view, completed);
        return joinFacts(known, { sessions, held, packages, geneses, sessionCount: counted });
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
    const stored = await headsAfterFailure(handle, group);
    return group.map((write, index) =>
      answerFrom(answers[index] ?? null, { write, failure, stored: stored.get(write.session) ?? right(null) }),
    );
  }

  return async (group) => {
    let admission: Admission;
    try {
      // Refused here, nothing is written: the answer is certain.
      await makeReady(handle);
      admission = admitWrites(group, await factsOf(group));
    } catch (error) {
      const failure = rejectionOf(error);
      return group.map(() => left(failure));
    }
    const { answers, heads } = admission;
    if (admission.changes.length === 0) return answers;
    const versions = versionsOf(admission);
    const changes = [trail.put(versions), ...admission.changes];
    try {
      await handle.use((store) => store.write(changes));
    } catch (error) {
      return answerFailedWrite(group, answers, rejectionOf(error));
    }
    trail.written(versions, changes.length, bytesOf(changes));
    known.remember(
      group.filter((_, index) => answers[index]?._tag === 'Right'),
      heads,
    );
    ({ sessionCount } = admission);
    return answers;
  };
}

/** Opens a store that can only be read again: there may be space now. Refuses when nothing can be written. */
async function makeReady(handle: StoreHandle): Promise<void> {
  const isReadOnly = await handle.use(async (store) => {
    if (store.isReadOnly !== true) store.check();
    return store.isReadOnly;
  });
  if (isReadOnly !== true) return;
  await handle.reopen();
  await handle.use(async (store) => store.check());
}

interface AfterFailure {
  readonly write: Write;
  readonly failure: Rejection;
  /** What the reopened store contains of the session. */
  readonly stored: StoredHeadOf;
}

/** The answer to a write of a group whose write to the store failed. */
function answerFrom(answer: Answer | null, { write, failure, stored }: AfterFailure): Answer {
  // The version does not show whether new facts of a head were recorded.
  if (write.kind === 'restate' || write.kind === 'sweep') return left(reject('storage_unknown', '', failure.message));
  const code = failure.code === 'storage_full' ? 'storage_full' : 'storage_failed';
  const notRecorded = (): Rejection => reject(code, '', failure.message);
  return pipe(
    answer ?? left(notRecorded()),
    // A refusal may be due to an admitted write of this group that is not recorded now, so refused writes fail too.
    E.mapLeft(notRecorded),
    E.chain((version) =>
      pipe(
        stored,
        // The group is atomic and there is no other writer: the stream is at this version only if the group is on disk.
        E.map((at) => write.kind !== 'delete' && at !== null && at.version >= version),
        // No admitted write follows a deletion, so a tombstone that is found was written by this group.
        E.orElse((cause) =>
          cause.code === 'session_deleted' ? right(true) : left(outcomeUnknown(write.session, failure, cause)),
        ),
        E.chain((isRecorded) => (isRecorded ? right(version) : left(notRecorded()))),
      ),
    ),
  );
}

/** What the trail of a later commit says of this one: a lost deletion then shows as a session that lost an event. */
const versionsOf = ({ heads, deleted }: Admission): ReadonlyMap<SessionId, Version> =>
  new Map([...Array.from(heads, ([session, { version }]): [SessionId, Version] => [session, version]), ...deleted]);

const idOf = (session: SessionId, event: EventId): string => `${session}\0${event}`;

const outcomeUnknown = (session: SessionId, failure: Rejection, cause: Rejection): Rejection =>
  reject(
    'storage_unknown',
    '',
    `a write to session ${session} failed (${failure.message}), and so did finding out whether it was recorded (${cause.message}); look the event id up`,
  );

/** What was read of the store because it was not cached. */
interface ReadFacts {
  readonly sessions: ReadonlyMap<SessionId, StoredHeadOf>;
  readonly held: ReadonlySet<string>;
  readonly packages: ReadonlySet<Digest>;
  readonly geneses: ReadonlyMap<SessionId, Either<Rejection, string>>;
  readonly sessionCount: number;
}

const EMPTY_IDS: ReadonlySet<string> = new Set();
const NOTHING_READ = {
  sessions: new Map<SessionId, StoredHeadOf>(),
  held: EMPTY_IDS,
  packages: new Set<Digest>(),
  geneses: new Map<SessionId, Either<Rejection, string>>(),
};

/** The cached facts, completed with those that were read. */
const joinFacts = (
  known: KnownStreams,
  { sessions, held, packages, geneses, sessionCount }: ReadFacts,
): StreamFacts => ({
  headOf: (session) => {
    const head = known.head(session);
    return head === undefined ? (sessions.get(session) ?? right(null)) : right(head);
  },
  holds: (session, event) => known.holds(session, event) ?? held.has(idOf(session, event)),
  hasPackage: (digest) => known.hasPackage(digest) || packages.has(digest),
  genesisOf: (session) => geneses.get(session) ?? left(unknownSession(session)),
  sessionCount,
});

/** The stored head of each session of a group. */
async function readKnownHeads(view: StoreView, group: readonly Write[]): Promise<ReadonlyMap<SessionId, StoredHeadOf>> {
  const sessions = [...new Set(group.map(({ session }) => session))];
  const read = sessions.map(async (session): Promise<[SessionId, StoredHeadOf]> => [
    session,
    await readKnownHead(view, session),
  ]);
  return new Map(await Promise.all(read));
}

/** A damaged stream must not fail the other streams of its group, so its rejection is returned, not thrown. */
async function readKnownHead(view: StoreView, session: SessionId): Promise<StoredHeadOf> {
  try {
    return right(await readHead(view, session));
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

/** The tool packages of a group that must be looked up in the store. */
const packagesToLookUp = (group: readonly Write[], known: KnownStreams): readonly Digest[] =>
  group.flatMap((write) =>
    write.kind === 'create' && !known.hasPackage(write.tool_package.digest) ? [write.tool_package.digest] : [],
  );

/** The tool packages among these that are stored. */
async function readPackages(view: StoreView, asked: readonly Digest[]): Promise<ReadonlySet<Digest>> {
  if (asked.length === 0) return NOTHING_READ.packages;
  const found = await view.getMany(asked.map((digest) => packageKey(digest)));
  return new Set(asked.filter((_, index) => found[index] !== undefined));
}

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

const bytesOf = (changes: readonly Change[]): number =>
  changes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);

/** The stored heads after a failed write, read from the reopened store: only its recovery decides what is on disk. */
async function headsAfterFailure(
  handle: StoreHandle,
  group: readonly Write[],
): Promise<ReadonlyMap<SessionId, StoredHeadOf>> {
  try {
    await handle.reopen();
    return await handle.use((store) => store.view((view) => readKnownHeads(view, group)));
  } catch (error) {
    const cause = rejectionOf(error);
    return new Map(group.map(({ session }) => [session, left(cause)]));
  }
}
