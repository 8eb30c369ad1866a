// Follows a stream: first the stored commits, then each new one. A slow reader costs no memory: it is only notified of new
// commits, and reads them from the journal at its own pace; the last commit of a session, which is durable, from memory. A reader that waits does not keep its session in memory: a
// session is loaded before it adopts anything. Who asks for it also reads what the model is writing now.
import { type Either, isLeft, map } from 'fp-ts/lib/Either.js';
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import { freezeJson } from '../../schemas/json.ts';
import { FOLLOW_PAGE_EVENTS } from '../../schemas/limits.ts';
import { type CommitRecord, versionAfter } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { Pause } from '../turns.ts';
import type { Journal, JournalCommit } from '../journal/journal.ts';
import type { DeltaReader } from './deltas.ts';
import { commitRecords, recordsFrom } from './sessions/records.ts';

export interface ChangeNotices {
  /** The session was loaded or has adopted events: every reader that waits for it continues to read. */
  notify(id: SessionId): void;
  /** One that waits for changes of this session, again and again, until it is closed or aborted. */
  wait(id: SessionId, signal: AbortSignal): ChangeWaiter;
  /** Ends all waits. */
  close(): void;
}

export interface ChangeWaiter {
  /** Resolves with the next change, or at once when aborted. Called again only when it has resolved. */
  next(): Promise<void>;
  close(): void;
}

export function newChangeNotices(): ChangeNotices {
  const waiting = new Map<SessionId, Set<() => void>>();
  const notify = (id: SessionId): void => {
    const answers = waiting.get(id);
    waiting.delete(id);
    for (const answer of answers ?? []) answer();
  };
  const forget = (id: SessionId, answer: () => void): void => {
    const answers = waiting.get(id);
    if (answers?.delete(answer) === true && answers.size === 0) waiting.delete(id);
  };
  return {
    notify,
    wait(id, signal) {
      let answer = (): void => undefined;
      // Listened to once and not for each wait: a session may have many readers, and many commits a second.
      const abort = (): void => {
        forget(id, answer);
        answer();
      };
      signal.addEventListener('abort', abort, { once: true });
      return {
        next: () =>
          new Promise((resolve) => {
            answer = resolve;
            if (signal.aborted) {
              resolve();
              return;
            }
            const answers = waiting.get(id) ?? new Set();
            waiting.set(id, answers.add(answer));
          }),
        close() {
          signal.removeEventListener('abort', abort);
          forget(id, answer);
        },
      };
    },
    close() {
      for (const id of Array.from(waiting.keys())) notify(id);
    },
  };
}

export interface Followed {
  readonly id: SessionId;
  readonly from: Position;
  /** How many events are durable now; null when the session must be loaded first. */
  readonly version: () => Version | null;
  /** The commit at this position, when it is the last one and in memory. */
  readonly lastCommitAt: (position: Position) => JournalCommit | null;
  readonly load: () => Promise<Either<Rejection, unknown>>;
  readonly signal: AbortSignal;
  readonly pause: Pause;
}

/** Yields commits in order, from the one that contains `from`, until aborted. Throws {@link FollowRefused} when reading fails. */
export const follow = (journal: Journal, notices: ChangeNotices, followed: Followed): AsyncGenerator<CommitRecord> =>
  followWith<never>(journal, notices, followed, { next: () => null });

/** {@link follow}, with what the model writes between the commits. */
export const followLive = (
  journal: Journal,
  notices: ChangeNotices,
  followed: Followed & { readonly deltas: DeltaReader },
): AsyncGenerator<CommitRecord | DeltaFrame> => followWith(journal, notices, followed, followed.deltas);

async function* followWith<Frame>(
  journal: Journal,
  notices: ChangeNotices,
  followed: Followed,
  deltas: { readonly next: () => Frame | null },
): AsyncGenerator<CommitRecord | Frame> {
  const { id, version, load, signal } = followed;
  const waiter = notices.wait(id, signal);
  let at: number = followed.from;
  try {
    while (!signal.aborted) {
      const now = version();
      if (now === null) {
        const loaded = await load();
        if (isLeft(loaded) && !signal.aborted) throw new FollowRefused(loaded.left);
        continue;
      }
      if (at >= now) {
        // Only to a reader that knows every commit: a frame belongs to the turn after them.
        const frame = deltas.next();
        if (frame !== null) yield frame;
        else await waiter.next();
        continue;
      }
      const page = await pageFrom(journal, followed, at as Position, now - at);
      if (signal.aborted) return;
      if (isLeft(page)) throw new FollowRefused(page.left);
      for (const record of page.right) {
        if (signal.aborted) return;
        yield record;
        at = versionAfter(record);
      }
    }
  } finally {
    waiter.close();
  }
}

/** The next commits from a position, of so many events that there are: the last one from memory, others from the journal. */
function pageFrom(
  journal: Journal,
  { id, lastCommitAt, pause }: Followed,
  from: Position,
  events: number,
): Promise<Either<Rejection, readonly CommitRecord[]>> {
  const last = lastCommitAt(from);
  return last === null
    ? commitRecords(journal, pause, id, { from, limit: Math.min(FOLLOW_PAGE_EVENTS, events) })
    : sharedRecord(pause, id, last);
}

/** The record of the last commit of a session, decoded once for all who wait for it, and frozen as they share it. */
function sharedRecord(
  pause: Pause,
  id: SessionId,
  commit: JournalCommit,
): Promise<Either<Rejection, readonly CommitRecord[]>> {
  const known = SHARED.get(commit) ?? recordsFrom(pause, id, [commit]).then(map(freezeJson<readonly CommitRecord[]>));
  SHARED.set(commit, known);
  return known;
}

const SHARED = new WeakMap<JournalCommit, Promise<Either<Rejection, readonly CommitRecord[]>>>();
