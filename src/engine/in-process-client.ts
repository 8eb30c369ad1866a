// The client of an engine in the same process: the same interface and the same rejections as over HTTP.
import { type Either, isLeft, isRight, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode, integer } from '../../schemas/codec.ts';
import { Digest, Position, SessionId } from '../../schemas/ids.ts';
import { READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import type { CommitRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import {
  CreateSession,
  type DeltaFrame,
  type DeltasTaken,
  type EngineInfo,
  ForkSession,
  Heartbeat,
  JoinBlobs,
  LeaseRequest,
  ListDeleted,
  ListSessions,
  PostDeltas,
  Release,
  type SessionView,
  Submit,
} from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EngineClient, FollowOptions } from '../client/client.ts';
import { followStart } from '../client/follow-start.ts';
import { eventsFrom } from '../client/events-from.ts';
import { joinSignals } from '../client/join-signals.ts';
import { sessionStatus } from '../core/status.ts';
import { stateDigest } from '../core/state-digest.ts';
import type { Pause } from '../turns.ts';
import type { Journal } from '../journal/journal.ts';
import type { TellFault } from './faults.ts';
import { backupParts } from './backup.ts';
import type { Deltas } from './deltas.ts';
import { type ChangeNotices, type Followed, follow, followLive } from './follow.ts';
import { newBlobJoins } from './join-blobs.ts';
import type { LiveSession } from './append/live-session.ts';
import { type Intake, newIntake } from './intake.ts';
import type { LeaseTable } from './leases/lease-table.ts';
import { storedStart } from './sessions/load-session.ts';
import { commitRecords, firstRecords } from './sessions/records.ts';
import { namedBlobs, newUnnamedBlobs } from './unnamed-blobs.ts';
import { submitAndLease } from './submit-and-lease.ts';
import type { Sessions } from './sessions/sessions.ts';

export interface InProcessPorts {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly journal: Journal;
  readonly blobs: Blobs;
  /** The blobs that are no entries of the journal: a backup has them beside its entries. */
  readonly files: Blobs;
  readonly notices: ChangeNotices;
  readonly deltas: Deltas;
  readonly info: EngineInfo;
  readonly closed: AbortSignal;
  readonly tellFault: TellFault;
  /** Aborts when the engine begins to drain: it takes reports, and no new work. */
  readonly draining: AbortSignal;
  readonly pause: Pause;
  /** Instead of UNNAMED_BLOB_BYTES_MAX. */
  readonly unnamedBlobBytesMax?: number | undefined;
}

type Answer<T> = Promise<Either<Rejection, T>>;

export function newInProcessClient(ports: InProcessPorts): EngineClient {
  const { sessions, journal, blobs, files, closed, draining, pause } = ports;

  const intake = newIntake(closed, ports.tellFault, pause);
  const unlessDraining = refusingWhen(draining);
  const unnamed = newUnnamedBlobs(ports.unnamedBlobBytesMax);
  const joins = newBlobJoins(blobs, unnamed);
  const naming = async <T>(request: object, answered: Answer<T>): Answer<T> => {
    const answer = await answered;
    if (isRight(answer)) unnamed.named(namedBlobs(request));
    return answer;
  };

  return {
    info: () => intake.whileOpen(() => Promise.resolve(right(ports.info))),
    createSession: (request = {}) =>
      unlessDraining(intake.withRequest(CreateSession, request, (asked) => naming(asked, sessions.create(asked)))),
    fork: (id, request = {}) =>
      unlessDraining(
        intake.withArgument(SessionId, id, (known) =>
          intake.withRequest(ForkSession, request, (asked) => sessions.fork(known, asked))(),
        ),
      ),
    sessions: (request = {}) => intake.withRequest(ListSessions, request, (asked) => sessions.list(asked)),
    deleteSession: (id) => intake.withArgument(SessionId, id, (known) => sessions.delete(known)),
    deletedSessions: (request = {}) => intake.withRequest(ListDeleted, request, (asked) => sessions.listDeleted(asked)),
    session: (id) =>
      intake.withArgument(SessionId, id, async (known) => {
        const session = await sessions.get(known);
        return isLeft(session) ? session : right(viewOf(session.right, ports.leases));
      }),
    storedStart: (id, version) =>
      intake.withArgument(SessionId, id, (known) => storedStart(journal, pause, known, version)),
    submit: (id, request) =>
      intake.withArgument(SessionId, id, (known) =>
        intake.withRequest(Submit, request, async (submitted, bytes) =>
          draining.aborted && (await startsRun(ports, known, submitted))
            ? left(drains())
            : await naming(submitted, submitAndLease(ports, known, submitted, bytes)),
        )(),
      ),
    records: (id, from, limit = READ_PAGE_EVENTS) =>
      intake.withArgument(SessionId, id, (known) =>
        pipe(
          TE.Do,
          TE.bind('from', () => (from === undefined ? TE.right(from) : decodeAt('/from', Position, from))),
          TE.bind('limit', () => decodeAt('/limit', RecordLimit, limit)),
          TE.chain((asked) => () => recordsOf(ports, known, asked.from, Math.min(asked.limit, READ_PAGE_EVENTS))),
        )(),
      ),
    ...newFollowing(ports),
    postDeltas: (id, request) =>
      intake.withArgument(SessionId, id, (known) =>
        intake.withRequest(PostDeltas, request, (asked) => Promise.resolve(postDeltas(ports, known, asked)))(),
      ),
    backup: () => backupParts(journal, files, closed),
    ...leasing(ports, intake),
    putBlob: (bytes, options) => intake.whileOpen(() => unnamed.put(bytes.length, () => blobs.put(bytes, options)())),
    joinBlobs: (request) => intake.withRequest(JoinBlobs, request, (asked) => joins(asked)),
    getBlob: (ref) => intake.withArgument(Digest, ref, (known) => blobs.get(known)()),
    close: () => Promise.resolve(),
  };
}

type Following = Pick<EngineClient, 'follow' | 'followCommits' | 'followLive'>;

function newFollowing({ sessions, journal, notices, deltas, closed, pause }: InProcessPorts): Following {
  async function* following<Item>(
    id: SessionId,
    { from = 0, signal }: FollowOptions,
    read: (followed: Followed) => AsyncGenerator<Item>,
  ): AsyncGenerator<Item> {
    const start = followStart(id, from);
    const joined = joinSignals(signal, closed);
    try {
      yield* read({
        ...start,
        version: () => sessions.inMemory(start.id)?.state().version ?? null,
        lastCommitAt: (position) => sessions.inMemory(start.id)?.lastCommitAt(position) ?? null,
        load: () => sessions.get(start.id),
        signal: joined.signal,
        pause,
      });
    } finally {
      joined.release();
    }
  }

  const commits = (id: SessionId, options: FollowOptions): AsyncGenerator<CommitRecord> =>
    following(id, options, (followed) => follow(journal, notices, followed));

  async function* live(followed: Followed): AsyncGenerator<CommitRecord | DeltaFrame> {
    const reader = deltas.read(followed.id);
    try {
      yield* followLive(journal, notices, { ...followed, deltas: reader });
    } finally {
      reader.close();
    }
  }

  return {
    follow: (id, options = {}) => eventsFrom(commits(id, options), options.from ?? 0),
    followCommits: (id, options = {}) => commits(id, options),
    followLive: (id, options = {}) => following(id, options, live),
  };
}

function postDeltas(
  { leases, deltas, notices }: InProcessPorts,
  session_id: SessionId,
  { owner, effect_id, epoch, parts }: PostDeltas,
): Either<Rejection, DeltasTaken> {
  const generate = leases.generateOf({ session_id, effect_id, epoch }, owner);
  if (isLeft(generate)) return generate;
  const { run_id, turn } = generate.right;
  const readers = deltas.post(session_id, { run_id, turn, epoch }, parts);
  notices.notify(session_id);
  return right({ readers });
}

async function recordsOf(
  { journal, pause }: Pick<InProcessPorts, 'journal' | 'pause'>,
  id: SessionId,
  from: Position | undefined,
  limit: number,
): Answer<readonly StreamRecord[]> {
  if (from !== undefined) return await commitRecords(journal, pause, id, { from, limit });
  return await pipe(
    () => commitRecords(journal, pause, id, { from: FIRST, limit }),
    TE.bindTo('commits'),
    TE.bind('first', () => () => firstRecords(journal, pause, id)),
    TE.map(({ first, commits }): readonly StreamRecord[] => [...first, ...commits]),
  )();
}

/** Whether a request may start a run: a follow-up starts at once when no run is live. */
async function startsRun({ sessions }: InProcessPorts, id: SessionId, { events }: Submit): Promise<boolean> {
  if (events.some(({ kind }) => kind === 'RunRequested')) return true;
  if (!events.some(({ kind }) => kind === 'FollowUpQueued')) return false;
  const session = await sessions.get(id);
  return !isLeft(session) && session.right.state().run === null;
}

/** Refuses new work once the engine drains. */
const refusingWhen =
  (draining: AbortSignal) =>
  <T>(task: TE.TaskEither<Rejection, T>): TE.TaskEither<Rejection, T> =>
  async () =>
    draining.aborted ? left(drains()) : await task();

type Leasing = Pick<EngineClient, 'lease' | 'heartbeat' | 'release'>;

const leasing = ({ leases, draining }: InProcessPorts, intake: Intake): Leasing => ({
  lease: (request, signal) =>
    intake.withRequest(LeaseRequest, request, async (asked) => {
      if (draining.aborted) return left(drains());
      const granted = await leases.lease(asked, signal);
      const nothing = isLeft(granted) || granted.right.effects.length === 0;
      return nothing && signal?.aborted === true ? left(aborted()) : granted;
    }),
  heartbeat: (request) => intake.withRequest(Heartbeat, request, async (asked) => right(leases.heartbeat(asked))),
  release: (request) => intake.withRequest(Release, request, async (asked) => right(leases.release(asked))),
});

const FIRST = 0 as Position;

function viewOf(session: LiveSession, leases: LeaseTable): SessionView {
  const state = session.state();
  const view = { state, state_digest: stateDigest(state), chain: session.chain(), ...sessionStatus(state) };
  const held_by = leases.holdersIn(session.id);
  return held_by.length === 0 ? view : { ...view, held_by };
}

const RecordLimit = integer('a number of events', 1);

const decodeAt = <A>(path: string, codec: Codec<A>, value: unknown): TE.TaskEither<Rejection, A> =>
  pipe(
    TE.fromEither(decode(codec, value)),
    TE.mapLeft((fault) => ({ ...fault, path })),
  );

const drains = (): Rejection =>
  reject('closing', '', 'the engine is stopping and takes no new work; try again when it is back');

const aborted = (): Rejection => reject('closing', '', 'the request was aborted by its caller');
