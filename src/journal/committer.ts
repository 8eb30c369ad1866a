// Commits groups of writes: learns where their streams stand, admits, writes once, and answers for what is on disk.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { EventId, SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Admission, type Standing, type Standings, type Write, admit } from './admission.ts';
import { HEADS_CACHED_MAX } from '../../schemas/limits.ts';
import { eventIdKey } from './keys.ts';
import { rejectionOf } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { StoreView } from './store.ts';
import { readHead, readSessionCount } from './stream-reads.ts';

type Answer = Either<Rejection, Version>;
type Commit = (group: readonly Write[]) => Promise<readonly Answer[]>;

/** The only writer of its store: one group at a time. */
export function openCommitter(handle: StoreHandle): Commit {
  // What the store holds, as of the last successful write; forgotten when a write fails.
  const versions = new Map<SessionId, Version>();
  let sessionCount: number | null = null;

  function remember(admission: Admission): void {
    for (const [session, version] of admission.versions) {
      versions.delete(session);
      versions.set(session, version);
    }
    for (const oldest of versions.keys()) {
      if (versions.size <= HEADS_CACHED_MAX) break;
      versions.delete(oldest);
    }
    sessionCount = admission.sessionCount;
  }

  async function standingsOf(group: readonly Write[], view: StoreView): Promise<Standings> {
    const [sessions, held, count] = await Promise.all([
      readStandings(view, group, versions),
      readHeld(view, group),
      sessionCount ?? readSessionCount(view),
    ]);
    return { sessions, holds: (session, event) => held.has(idOf(session, event)), sessionCount: count };
  }

  async function answerFailedWrite(
    group: readonly Write[],
    answers: readonly Answer[],
    failure: Rejection,
  ): Promise<readonly Answer[]> {
    versions.clear();
    sessionCount = null;
    const standings = await standingsAfterFailure(handle, group);
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
      admission = admit(group, await handle.use((store) => store.view((view) => standingsOf(group, view))));
    } catch (error) {
      const failure = rejectionOf(error);
      return group.map(() => left(failure));
    }
    const { answers, puts } = admission;
    if (puts.length === 0) return answers;
    try {
      await handle.use((store) => store.write(puts));
    } catch (error) {
      return answerFailedWrite(group, answers, rejectionOf(error));
    }
    remember(admission);
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

/** Where each session of a group stands, by the store unless `known`. */
async function readStandings(
  view: StoreView,
  group: readonly Write[],
  known: ReadonlyMap<SessionId, Version>,
): Promise<ReadonlyMap<SessionId, Standing>> {
  const sessions = [...new Set(group.map(({ session }) => session))];
  const standings = sessions.map(async (session): Promise<[SessionId, Standing]> => {
    const version = known.get(session);
    return [session, version === undefined ? await readStanding(view, session) : right(version)];
  });
  return new Map(await Promise.all(standings));
}

/** One damaged stream must not fail the others of its group, so that its rejection is an answer here. */
async function readStanding(view: StoreView, session: SessionId): Promise<Standing> {
  try {
    const head = await readHead(view, session);
    return right(head?.version ?? null);
  } catch (error) {
    return left(rejectionOf(error));
  }
}

/** The event ids of a group that its streams hold already. */
async function readHeld(view: StoreView, group: readonly Write[]): Promise<ReadonlySet<string>> {
  const asked = group.flatMap((write) =>
    write.kind === 'append' ? write.records.map(({ event_id }) => ({ session: write.session, event_id })) : [],
  );
  if (asked.length === 0) return new Set();
  const found = await view.getMany(asked.map(({ session, event_id }) => eventIdKey(session, event_id)));
  const held = asked.filter((_, index) => found[index] !== undefined);
  return new Set(held.map(({ session, event_id }) => idOf(session, event_id)));
}

/** What is on disk after a write failed: read from the store opened anew, because only recovery decides it. */
async function standingsAfterFailure(
  handle: StoreHandle,
  group: readonly Write[],
): Promise<ReadonlyMap<SessionId, Standing>> {
  try {
    await handle.reopen();
    return await handle.use((store) => store.view((view) => readStandings(view, group, new Map())));
  } catch (error) {
    const cause = rejectionOf(error);
    return new Map(group.map(({ session }) => [session, left(cause)]));
  }
}
