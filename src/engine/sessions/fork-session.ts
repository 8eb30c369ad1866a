// Forks a stored session: reads its first events, verifies them, and stores them as a new stream. Blobs and pages are
// shared, because their address is their content.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Digest, Position, SessionId } from '../../../schemas/ids.ts';
import { APPEND_BYTES_MAX, EVENTS_PER_COMMIT_MAX, READ_PAGE_EVENTS } from '../../../schemas/limits.ts';
import {
  type CommitRecord,
  type GenesisRecord,
  type PackageRecord,
  type StreamRecord,
  versionAfter,
} from '../../../schemas/record.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ForkedRun } from '../../../schemas/wire.ts';
import { type Forker, newForker } from '../../core/copies/fork.ts';
import type { Journal, JournalCommit, JournalEvent } from '../../journal/journal.ts';
import type { Pause } from '../../turns.ts';
import { beginCopy, completeCopy, growCopy } from './copy-stream.ts';
import { commitRecords, firstRecords, storedCommit, storedEvent } from './records.ts';

export interface ForkOptions {
  readonly source: SessionId;
  readonly session_id: SessionId;
  /** How many events to share; all of them when absent. */
  readonly at?: number;
  readonly run: ForkedRun;
  readonly at_ms: number;
  readonly pause: Pause;
}

type Answer<T> = Promise<Either<Rejection, T>>;

/** Stores the fork, which is an incomplete copy until its last write. */
export const forkSession = (journal: Journal, options: ForkOptions): Answer<void> =>
  pipe(
    () => firstRecords(journal, options.pause, options.source),
    TE.bindTo('first'),
    TE.bind('head', ({ first: [, genesis] }) => headAt(journal, genesis, options)),
    TE.bind('forker', ({ first, head }) => createFork(journal, newForker({ ...options, ...head }), first)),
    TE.bind('shared', ({ forker, head }) => copyShared(journal, forker, { ...options, at: head.at })),
    TE.bind('end', ({ forker }) => TE.fromEither(forker.finish())),
    TE.chain(({ shared, end }) => {
      const growth = { commits: [...shared, ...end.commits.map(storedCommit)], pages: end.sealed };
      return completeCopy(journal, options.session_id, growth, end.state);
    }),
  )();

/** Stores the genesis record of the fork. */
const createFork = (
  journal: Journal,
  forker: Forker,
  [tools, genesis]: readonly [PackageRecord, GenesisRecord],
): TE.TaskEither<Rejection, Forker> =>
  pipe(
    TE.fromEither(addSafely(forker, tools)),
    TE.chainEitherK(() => addSafely(forker, genesis)),
    TE.chain((own) =>
      own?.kind === 'genesis'
        ? beginCopy(journal, { genesis: own.genesis, tool_package: tools.tool_package })
        : TE.right(undefined),
    ),
    TE.map(() => forker),
  );

interface ForkHead {
  readonly at: number;
  readonly chain: Digest;
}

/** How many events are shared, and the chain value that the source recorded after the last commit that is shared whole. */
const headAt =
  (journal: Journal, genesis: GenesisRecord, { source, at: asked }: ForkOptions): TE.TaskEither<Rejection, ForkHead> =>
  async () => {
    const head = await journal.head(source)();
    if (isLeft(head)) return head;
    const at = asked ?? head.right.version;
    if (at > head.right.version) {
      const message = `session ${source} has ${head.right.version} events, so it cannot be forked after ${at}; fork it after at most that many`;
      return left(reject('position_unknown', '/at', message));
    }
    if (at === 0) return right({ at, chain: genesis.chain });
    const commitAt = (position: number): TE.TaskEither<Rejection, JournalCommit> =>
      pipe(
        journal.read(source, position as Position, 1),
        TE.chainEitherK(([commit]) => (commit === undefined ? left(noEvent(source, position)) : right(commit))),
      );
    return await pipe(
      commitAt(at - 1),
      TE.chain((commit) => {
        if (versionAfter(commit) === at) return TE.right(commit.chain);
        if (commit.position === 0) return TE.right(genesis.chain);
        return pipe(
          commitAt(commit.position - 1),
          TE.map(({ chain }) => chain),
        );
      }),
      TE.map((chain) => ({ at, chain })),
    )();
  };

const noEvent = (source: SessionId, position: number): Rejection =>
  reject('damaged', '', `session ${source}, position ${position}: there is no event`);

/** Stores the whole commits except those of the last append, which are returned and stored with the fork's own facts. */
const copyShared =
  (
    journal: Journal,
    forker: Forker,
    { source, session_id, at, pause }: ForkOptions & { readonly at: number },
  ): TE.TaskEither<Rejection, readonly JournalCommit[]> =>
  async () => {
    let pending: JournalCommit[] = [];
    let events = 0;
    let chars = 0;
    for (let read = 0; read < at;) {
      const asked = { from: read as Position, limit: Math.min(READ_PAGE_EVENTS, at - read) };
      const page = await commitRecords(journal, pause, source, asked);
      if (isLeft(page)) return page;
      if (page.right.length === 0) return left(noEvent(source, read));
      for (const record of page.right) {
        const rest = pause();
        if (rest !== null) await rest;
        // The pause, and the refused undos, must be in the same write as the last whole commit.
        if (events >= EVENTS_PER_COMMIT_MAX || chars >= APPEND_BYTES_MAX) {
          const failed = await growCopy(journal, session_id, { commits: pending, pages: [] })();
          if (isLeft(failed)) return failed;
          [pending, events, chars] = [[], 0, 0];
        }
        const own = addSafely(forker, record);
        if (isLeft(own)) return own;
        read = versionAfter(record);
        if (own.right?.kind !== 'commit') continue;
        const stored = await storedInTurns(own.right, pause);
        pending.push(stored);
        events += stored.events.length;
        for (const { text } of stored.events) chars += text.length;
      }
    }
    return right(pending);
  };

/** {@link storedCommit}, one event at a time. */
async function storedInTurns({ events, ...rest }: CommitRecord, pause: Pause): Promise<JournalCommit> {
  const stored: JournalEvent[] = [];
  for (const event of events) {
    const later = pause();
    if (later !== null) await later;
    stored.push(storedEvent(event));
  }
  const { position, state_digest, chain } = rest;
  return { position, events: stored, state_digest, chain };
}

// A record that was tampered with may never have been admitted, so a fold that throws on it means damaged data.
function addSafely(forker: Forker, record: StreamRecord): Either<Rejection, StreamRecord | null> {
  try {
    return forker.add(record);
  } catch {
    return left(reject('damaged', '', 'the source contains an event that cannot be folded'));
  }
}
