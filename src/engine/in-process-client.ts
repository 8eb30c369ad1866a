// The client of an engine in the same process: the same interface, and the same refusals, as over HTTP.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type Codec, decode } from '../../schemas/codec.ts';
import { Digest, type Position, SessionId } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import type { EventRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { CreateSession, type EngineInfo, Heartbeat, LeaseRequest } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EngineClient } from '../client/client.ts';
import { stateDigest } from '../core/state-digest.ts';
import type { Journal } from '../journal/journal.ts';
import { type Bells, follow } from './follow.ts';
import type { LeaseTable } from './leases.ts';
import { eventRecords, genesisRecord } from './records.ts';
import type { Sessions } from './sessions.ts';

export interface InProcessPorts {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly bells: Bells;
  readonly info: EngineInfo;
  readonly closed: AbortSignal;
}

export function newInProcessClient(ports: InProcessPorts): EngineClient {
  const { sessions, leases, journal, blobs, closed } = ports;

  /** Decodes the request, then works; refuses everything once the engine is closing. */
  const on =
    <A, B>(
      codec: Codec<A>,
      request: unknown,
      work: (request: A) => Promise<Either<Rejection, B>>,
    ): TaskEither<Rejection, B> =>
    async () => {
      if (closed.aborted) return left(reject('closing', '', 'the engine is closing'));
      const decoded = decode(codec, request);
      return isLeft(decoded) ? decoded : await work(decoded.right);
    };

  async function* following(id: SessionId, from: Position, signal?: AbortSignal): AsyncGenerator<EventRecord> {
    const session = await sessions.get(id);
    if (isLeft(session)) throw new Error(`${session.left.code}: ${session.left.message}`);
    const any = signal === undefined ? closed : AbortSignal.any([signal, closed]);
    const live = session.right;
    yield* follow(journal, ports.bells, { id, from, version: () => live.state().version, signal: any });
  }

  async function records(
    id: SessionId,
    from: Position | undefined,
    limit: number,
  ): Promise<Either<Rejection, readonly StreamRecord[]>> {
    const events = await eventRecords(journal, id, from ?? (0 as Position), limit);
    if (isLeft(events) || from !== undefined) return events;
    const genesis = await genesisRecord(journal, id);
    return isLeft(genesis) ? genesis : right([genesis.right, ...events.right]);
  }

  return {
    info: () => async () => right(ports.info),
    createSession: (request = {}) => on(CreateSession, request, (asked) => sessions.create(asked)),
    sessions: () => journal.sessions(),
    session: (id) =>
      on(SessionId, id, async (known) => {
        const session = await sessions.get(known);
        if (isLeft(session)) return session;
        const state = session.right.state();
        return right({ state, state_digest: stateDigest(state), chain: session.right.chain() });
      }),
    submit: (id, request) =>
      on(SessionId, id, async (known) => {
        const session = await sessions.get(known);
        return isLeft(session) ? session : await session.right.submit(request);
      }),
    records: (id, from, limit = READ_PAGE_RECORDS) =>
      on(SessionId, id, (known) => records(known, from, Math.min(Math.max(1, limit), READ_PAGE_RECORDS))),
    follow: (id, options = {}) => following(id, options.from ?? (0 as Position), options.signal),
    lease: (request, signal) => on(LeaseRequest, request, (asked) => leases.lease(asked, signal)),
    heartbeat: (request) => on(Heartbeat, request, async (asked) => right(leases.heartbeat(asked))),
    release: (request) => on(Heartbeat, request, async (asked) => right(leases.release(asked))),
    putBlob: (bytes) => blobs.put(bytes),
    getBlob: (ref) => on(Digest, ref, (known) => blobs.get(known)()),
    close: () => Promise.resolve(),
  };
}
