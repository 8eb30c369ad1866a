// The client of an engine in the same process: the same interface, and the same refusals, as over HTTP.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { decode, integer } from '../../schemas/codec.ts';
import { Digest, Position, SessionId } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import type { EventRecord, StreamRecord } from '../../schemas/record.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import {
  CreateSession,
  type EngineInfo,
  ForkSession,
  Heartbeat,
  LeaseRequest,
  Release,
  Submit,
} from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { EngineClient } from '../client/client.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import { joinSignals } from '../client/join-signals.ts';
import { sessionStatus } from '../core/status.ts';
import { stateDigest } from '../core/state-digest.ts';
import type { Journal } from '../journal/journal.ts';
import { type ChangeNotices, follow } from './follow.ts';
import { newIntake } from './intake.ts';
import type { LeaseTable } from './lease-table.ts';
import { eventRecords, genesisRecord } from './records.ts';
import { submitAndLease } from './submit-and-lease.ts';
import type { Sessions } from './sessions.ts';

export interface InProcessPorts {
  readonly sessions: Sessions;
  readonly leases: LeaseTable;
  readonly journal: Journal;
  readonly blobs: Blobs;
  readonly notices: ChangeNotices;
  readonly info: EngineInfo;
  readonly closed: AbortSignal;
}

type Answer<T> = Promise<Either<Rejection, T>>;

export function newInProcessClient(ports: InProcessPorts): EngineClient {
  const { sessions, leases, journal, blobs, closed } = ports;

  const take = newIntake(closed);

  async function* following(id: SessionId, from: number, signal?: AbortSignal): AsyncGenerator<EventRecord> {
    const known = decode(SessionId, id);
    if (isLeft(known)) throw new FollowRefused(known.left);
    const position = decode(Position, from);
    if (isLeft(position)) throw new FollowRefused({ ...position.left, path: '/from' });
    const either = joinSignals(signal, closed);
    try {
      yield* follow(journal, ports.notices, {
        id: known.right,
        from: position.right,
        version: () => sessions.peek(known.right)?.state().version ?? null,
        load: () => sessions.get(known.right),
        signal: either.signal,
      });
    } finally {
      either.release();
    }
  }

  async function records(id: SessionId, from: Position | undefined, limit: number): Answer<readonly StreamRecord[]> {
    const events = await eventRecords(journal, id, from ?? FIRST, limit);
    if (isLeft(events) || from !== undefined) return events;
    const genesis = await genesisRecord(journal, id);
    return isLeft(genesis) ? genesis : right([genesis.right, ...events.right]);
  }

  return {
    info: () => take.open(() => Promise.resolve(right(ports.info))),
    createSession: (request = {}) => take.request(CreateSession, request, (asked) => sessions.create(asked)),
    fork: (id, request = {}) =>
      take.argument(SessionId, id, (known) =>
        take.request(ForkSession, request, (asked) => sessions.fork(known, asked))(),
      ),
    sessions: () => take.open(() => sessions.list()),
    session: (id) =>
      take.argument(SessionId, id, async (known) => {
        const session = await sessions.get(known);
        if (isLeft(session)) return session;
        const state = session.right.state();
        const chain = session.right.chain();
        return right({ state, state_digest: stateDigest(state), chain, ...sessionStatus(state) });
      }),
    submit: (id, request) =>
      take.argument(SessionId, id, (known) =>
        take.request(Submit, request, (submitted, bytes) => submitAndLease(ports, known, submitted, bytes))(),
      ),
    records: (id, from, limit = READ_PAGE_RECORDS) =>
      take.argument(SessionId, id, async (known) => {
        const position = from === undefined ? right(from) : decode(Position, from);
        if (isLeft(position)) return left({ ...position.left, path: '/from' });
        const count = decode(RecordLimit, limit);
        if (isLeft(count)) return left({ ...count.left, path: '/limit' });
        return await records(known, position.right, Math.min(count.right, READ_PAGE_RECORDS));
      }),
    follow: (id, { from = 0, signal } = {}) => following(id, from, signal),
    lease: (request, signal) =>
      take.request(LeaseRequest, request, async (asked) => {
        const granted = await leases.lease(asked, signal);
        const nothing = isLeft(granted) || granted.right.effects.length === 0;
        return nothing && signal?.aborted === true ? left(aborted()) : granted;
      }),
    heartbeat: (request) => take.request(Heartbeat, request, async (asked) => right(leases.heartbeat(asked))),
    release: (request) => take.request(Release, request, async (asked) => right(leases.release(asked))),
    putBlob: (bytes) => take.open(() => blobs.put(bytes)()),
    getBlob: (ref) => take.argument(Digest, ref, (known) => blobs.get(known)()),
    close: () => Promise.resolve(),
  };
}

const FIRST = 0 as Position;

const RecordLimit = integer('a number of records', 1);

const aborted = (): Rejection => reject('closing', '', 'the request was aborted');
