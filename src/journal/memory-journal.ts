// A journal in memory, for tests, simulation and short-lived embedding. Its content is lost when the process ends.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { EventId, Position, SessionId, Version } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { checkRecords, eventRepeated, sessionExists, unknownSession, versionConflict } from './append-rules.ts';
import type { Journal, JournalRecord, SessionHead } from './journal.ts';
import { openMemorySnapshots } from './memory-snapshots.ts';
import { guardSnapshots } from './snapshots.ts';

interface Stream {
  readonly genesis: string;
  readonly records: JournalRecord[];
  readonly positions: Map<EventId, Position>;
  owing: boolean;
}

type Answer<T> = Either<Rejection, T>;

export function openMemoryJournal(): Journal {
  const streams = new Map<SessionId, Stream>();
  let closed = false;

  const unlessClosed =
    <T>(work: () => Answer<T>): TaskEither<Rejection, T> =>
    async () =>
      closed ? left(reject('closing', '', 'the journal is closed')) : work();

  const onStream = <T>(session: SessionId, work: (stream: Stream) => Answer<T>): TaskEither<Rejection, T> =>
    unlessClosed(() => {
      const stream = streams.get(session);
      return stream === undefined ? left(unknownSession(session)) : work(stream);
    });

  return {
    create: (session, genesis) =>
      unlessClosed(() => {
        if (streams.has(session)) return left(sessionExists(session));
        streams.set(session, { genesis, records: [], positions: new Map(), owing: false });
        return right(undefined);
      }),
    genesis: (session) => onStream(session, (stream) => right(stream.genesis)),
    append: (session, expected, records, owing) =>
      unlessClosed(() => {
        const refused = checkRecords(session, records);
        if (refused !== null) return left(refused);
        const stream = streams.get(session);
        if (stream === undefined) return left(unknownSession(session));
        return appendTo(stream, session, { expected, records, owing });
      }),
    read: (session, from, limit) =>
      onStream(session, (stream) => right(stream.records.slice(from, from + Math.min(limit, READ_PAGE_RECORDS)))),
    head: (session) => onStream(session, (stream) => right(headOf(session, stream))),
    find: (session, event) => onStream(session, (stream) => right(stream.positions.get(event) ?? null)),
    sessions: () =>
      unlessClosed(() => {
        const inOrder = [...streams].sort(([a], [b]) => (a < b ? -1 : 1));
        return right(inOrder.map(([session, stream]) => headOf(session, stream)));
      }),
    snapshots: guardSnapshots(openMemorySnapshots(), () => closed),
    close: async () => {
      closed = true;
    },
  };
}

const headOf = (session: SessionId, stream: Stream): SessionHead => ({
  session_id: session,
  version: stream.records.length as Version,
  owing: stream.owing,
});

interface Append {
  readonly expected: Version;
  readonly records: readonly JournalRecord[];
  readonly owing: boolean;
}

function appendTo(stream: Stream, session: SessionId, { expected, records, owing }: Append): Answer<Version> {
  const version = stream.records.length as Version;
  if (version !== expected) return left(versionConflict(session, expected, version));
  const repeated = records.find((record) => stream.positions.has(record.event_id));
  if (repeated !== undefined) return left(eventRepeated(session, repeated.event_id));
  for (const { event, event_id, state_digest, chain } of records) {
    stream.positions.set(event_id, stream.records.length as Position);
    stream.records.push(Object.freeze({ event, event_id, state_digest, chain }));
  }
  stream.owing = owing;
  return right(stream.records.length as Version);
}
