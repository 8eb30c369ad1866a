// Forks a stored session: reads its first events, verifies them, and stores them as a new stream. Blobs are shared,
// because their address is their content.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Position, SessionId, Version } from '../../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX, READ_PAGE_RECORDS } from '../../../schemas/limits.ts';
import type { EventRecord, GenesisRecord, StreamRecord } from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ForkedRun } from '../../../schemas/wire.ts';
import type { Blobs } from '../../blobs/blobs.ts';
import { genesisText } from '../../core/genesis-text.ts';
import { type Forker, newForker } from '../../core/fork.ts';
import type { Journal, JournalRecord } from '../../journal/journal.ts';
import type { LoadedSession } from './load-session.ts';
import { owesAnything } from '../leases/owed-effects.ts';
import { eventRecords, genesisRecord } from './records.ts';

export interface ForkOptions {
  readonly source: SessionId;
  readonly session_id: SessionId;
  /** How many events to share; all of them when absent. */
  readonly at?: number;
  readonly run: ForkedRun;
  readonly at_ms: number;
}

type Answer<T> = Promise<Either<Rejection, T>>;

/**
 * Stores the fork. Only its last append marks what the fork owes, so that no bridge works on a fork that was cut off;
 * {@link findForkFault} recognises such a fork.
 */
export const forkSession = (journal: Journal, blobs: Blobs, options: ForkOptions): Answer<void> =>
  pipe(
    () => genesisRecord(journal, options.source),
    TE.bindTo('genesis'),
    TE.bind('head', ({ genesis }) => headAt(journal, genesis, options)),
    TE.bind('forker', ({ genesis, head }) => createFork(journal, newForker({ ...options, ...head }), genesis)),
    TE.bind('shared', ({ forker, head }) => copyShared(journal, forker, { ...options, at: head.at })),
    TE.bind('end', ({ forker }) => TE.fromEither(forker.finish())),
    TE.chainFirst(({ end }) => putPages(blobs, end.sealed)),
    TE.chain(({ head, shared, end }) => () => {
      const records = [...shared, ...end.facts.map((record) => stored(record))];
      return append(journal, options.session_id, { from: head.at - shared.length, records }, owesAnything(end.state));
    }),
  )();

/** Stores the genesis record of the fork. */
const createFork = (journal: Journal, forker: Forker, genesis: GenesisRecord): TE.TaskEither<Rejection, Forker> =>
  pipe(
    TE.fromEither(addSafely(forker, genesis)),
    TE.chain((own) =>
      own.kind === 'genesis' ? journal.create(own.genesis.session_id, genesisText(own.genesis)) : TE.right(undefined),
    ),
    TE.map(() => forker),
  );

const putPages =
  (blobs: Blobs, pages: readonly string[]): TE.TaskEither<Rejection, void> =>
  async () => {
    for (const page of pages) {
      const stored = await blobs.put(new TextEncoder().encode(page))();
      if (isLeft(stored)) return stored;
    }
    return right(undefined);
  };

/** The fault of a fork that was cut off before all its shared events were stored; null for any other session. */
export function findForkFault({ genesis, state }: LoadedSession): Rejection | null {
  const { forked_from } = genesis;
  if (forked_from === undefined || state.version >= (forked_from.position as number)) return null;
  const has = `it has ${state.version} of the ${forked_from.position} events it shares with ${forked_from.session_id}`;
  return reject(
    'damaged',
    '',
    `session ${genesis.session_id} is a fork that was cut off: ${has}; fork again under a new id`,
  );
}

interface ForkHead extends Pick<EventRecord, 'chain'> {
  readonly at: number;
}

/** How many events are shared, and the chain value that the source recorded after them. */
const headAt =
  (journal: Journal, genesis: GenesisRecord, { source, at: asked }: ForkOptions): TE.TaskEither<Rejection, ForkHead> =>
  async () => {
    const head = await journal.head(source)();
    if (isLeft(head)) return head;
    const at = asked ?? head.right.version;
    if (at > head.right.version) {
      const message = `session ${source} has ${head.right.version} events, so it cannot be forked after ${at}`;
      return left(reject('position_unknown', '/at', message));
    }
    if (at === 0) return right({ at, chain: genesis.chain });
    return await pipe(
      journal.read(source, (at - 1) as Position, 1),
      TE.chainEitherK(([record]) => (record === undefined ? left(noRecord(source, at - 1)) : right(record))),
      TE.map(({ chain }) => ({ at, chain })),
    )();
  };

const noRecord = (source: SessionId, position: number): Rejection =>
  reject('damaged', '', `session ${source}, position ${position}: there is no record`);

/** Stores the shared events except those of the last append, which are returned and stored with the fork's own facts. */
const copyShared =
  (
    journal: Journal,
    forker: Forker,
    { source, session_id, at }: ForkOptions & { readonly at: number },
  ): TE.TaskEither<Rejection, readonly JournalRecord[]> =>
  async () => {
    let pending: JournalRecord[] = [];
    for (let read = 0; read < at;) {
      const page = await eventRecords(journal, source, read as Position, Math.min(READ_PAGE_RECORDS, at - read));
      if (isLeft(page)) return page;
      if (page.right.length === 0) return left(noRecord(source, read));
      for (const record of page.right) {
        // The pause, and the refused undos, must be in the same write as the last shared event.
        if (pending.length === EVENTS_PER_APPEND_MAX / 2) {
          const failed = await append(journal, session_id, { from: read - pending.length, records: pending }, false);
          if (isLeft(failed)) return failed;
          pending = [];
        }
        const own = addSafely(forker, record);
        if (isLeft(own)) return own;
        if (own.right.kind === 'event') pending.push(stored(own.right));
        read += 1;
      }
    }
    return right(pending);
  };

/** Appends records in as many writes as they need; the last one marks whether the session owes anything. */
async function append(
  journal: Journal,
  id: SessionId,
  { from, records }: { readonly from: number; readonly records: readonly JournalRecord[] },
  owing: boolean,
): Answer<void> {
  for (let done = 0; done < records.length; done += EVENTS_PER_APPEND_MAX) {
    const next = records.slice(done, done + EVENTS_PER_APPEND_MAX);
    const isLast = done + next.length === records.length;
    const appended = await journal.append(id, (from + done) as Version, next, isLast && owing)();
    if (isLeft(appended)) return appended;
  }
  return right(undefined);
}

const stored = ({ event, state_digest, chain }: EventRecord): JournalRecord => ({
  event: canonicalText(event),
  event_id: event.event_id,
  state_digest,
  chain,
});

// A record that was tampered with may never have been admitted, so a fold that throws on it means damaged data.
function addSafely(forker: Forker, record: StreamRecord): Either<Rejection, StreamRecord> {
  try {
    return forker.add(record);
  } catch {
    return left(reject('damaged', '', 'the source contains an event that cannot be folded'));
  }
}
