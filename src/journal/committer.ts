// Commits groups of writes: learns where their streams stand, admits, writes once, and answers for what is on disk.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Admission, type StoredVersion, type StreamFacts, type Write, admit } from './admission.ts';
import { eventKey } from './keys.ts';
import { type KnownStreams, newKnownStreams } from './known-streams.ts';
import { rejectionOf } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { Put, StoreView } from './store.ts';
import { locateEvent, readHead, readSessionCount } from './stream-reads.ts';
import { newTrailWriter } from './commit-trail.ts';

type Answer = Either<Rejection, Version>;
type Commit = (group: readonly Write[]) => Promise<readonly Answer[]>;

/** The only writer of its store: one group at a time. */
export function openCommitter(handle: StoreHandle): Commit {
  const known = newKnownStreams();
  const trail = newTrailWriter();
  let sessionCount: number | null = null;

  /** Without a reading when everything is known: a group of appends then costs one write and nothing else. */
  async function factsOf(group: readonly Write[]): Promise<StreamFacts> {
    const unread = group.filter(({ session }) => known.version(session) === undefined);
    const asked = idsToLookUp(group, known);
    const count = sessionCount;
    if (unread.length === 0 && asked.length === 0 && count !== null) return standings(known, EMPTY, EMPTY_IDS, count);
    return await handle.use((store) =>
      store.view(async (view) => {
        const [sessions, held, counted] = await Promise.all([
          readVersions(view, unread),
          readHeld(view, asked),
          count ?? readSessionCount(view),
        ]);
        return standings(known, sessions, held, counted);
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
    const standings = await versionsAfterFailure(handle, group);
    // A conflict with a write that failed is no conflict, so that what was refused beside it fails as well.
    const failed = left(
      reject(failure.code === 'storage_full' ? 'storage_full' : 'storage_failed', '', failure.message),
    );
    return group.map(({ session }, index) => {
      const answer = answers[index] ?? failed;
      if (isLeft(answer)) return failed;
      const stands = standings.get(session) ?? right(null);
      if (isLeft(stands)) return left(outcomeUnknown(session, failure, stands.left));
      // The group is atomic and nobody else writes: the stream has come this far only if the group is on disk.
      return stands.right !== null && stands.right >= answer.right ? answer : failed;
    });
  }

  return async (group) => {
    let admission: Admission;
    try {
      admission = admit(group, await factsOf(group));
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
    `a write to session ${session} failed (${failure.message}) and could not be looked up (${cause.message})`,
  );

const EMPTY: ReadonlyMap<SessionId, StoredVersion> = new Map();
const EMPTY_IDS: ReadonlySet<string> = new Set();

/** What is known, and for the rest what was read. */
const standings = (
  known: KnownStreams,
  sessions: ReadonlyMap<SessionId, StoredVersion>,
  held: ReadonlySet<string>,
  sessionCount: number,
): StreamFacts => ({
  standing: (session) => {
    const version = known.version(session);
    return version === undefined ? (sessions.get(session) ?? right(null)) : right(version);
  },
  holds: (session, event) => known.holds(session, event) ?? held.has(idOf(session, event)),
  sessionCount,
});

/** Where each session of a group stands, by the store. */
async function readVersions(view: StoreView, group: readonly Write[]): Promise<ReadonlyMap<SessionId, StoredVersion>> {
  const sessions = [...new Set(group.map(({ session }) => session))];
  const read = sessions.map(async (session): Promise<[SessionId, StoredVersion]> => [
    session,
    await readVersion(view, session),
  ]);
  return new Map(await Promise.all(read));
}

/** One damaged stream must not fail the others of its group, so that its rejection is an answer here. */
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

/** The event ids of a group of which only the store knows whether they are there. */
const idsToLookUp = (group: readonly Write[], known: KnownStreams): readonly AskedId[] =>
  group.flatMap((write) => {
    if (write.kind !== 'append') return [];
    const { session, events } = write;
    return events.flatMap((event) => (known.holds(session, event) === undefined ? [{ session, event }] : []));
  });

/** Those of these event ids that their streams hold already. */
async function readHeld(view: StoreView, asked: readonly AskedId[]): Promise<ReadonlySet<string>> {
  if (asked.length === 0) return EMPTY_IDS;
  const found = await view.getMany(asked.map(({ session, event }) => eventKey(session, event)));
  const held = await Promise.all(
    asked.map(async (one, index) => {
      const bytes = found[index];
      // Rarely: only of what is there has it to be told whether it is this event.
      return bytes !== undefined && (await isHeld(view, one, bytes)) ? [idOf(one.session, one.event)] : [];
    }),
  );
  return new Set(held.flat());
}

/** One damaged stream must not fail the others of its group: where it cannot be read, its index is believed. */
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

/** What is on disk after a write failed: read from the store opened anew, because only recovery decides it. */
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
