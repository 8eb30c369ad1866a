// Following a stream: what is stored, then what is adopted, from one pointer. A slow reader costs no memory, because
// it reads from the journal at its own pace and is only told that there is more.
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import { FOLLOW_PAGE_RECORDS } from '../../schemas/limits.ts';
import type { EventRecord } from '../../schemas/record.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { FollowRefused } from '../client/follow-refused.ts';
import type { Journal } from '../journal/journal.ts';
import { eventRecords } from './records.ts';

export interface ChangeNotices {
  /** Something was adopted in this session. */
  ring(id: SessionId): void;
  /** Resolves at the next ring of this session, or when aborted. */
  next(id: SessionId, signal: AbortSignal): Promise<void>;
  /** Whether somebody waits for the next ring of this session. */
  isAwaited(id: SessionId): boolean;
  /** Ends all waiting. */
  close(): void;
}

export function newChangeNotices(): ChangeNotices {
  const waiting = new Map<SessionId, Set<() => void>>();
  const ring = (id: SessionId): void => {
    const answers = waiting.get(id);
    waiting.delete(id);
    for (const answer of answers ?? []) answer();
  };
  return {
    ring,
    next: (id, signal) =>
      new Promise((resolve) => {
        const answers = waiting.get(id) ?? new Set();
        waiting.set(id, answers);
        const done = (): void => {
          answers.delete(done);
          if (answers.size === 0 && waiting.get(id) === answers) waiting.delete(id);
          signal.removeEventListener('abort', done);
          resolve();
        };
        answers.add(done);
        signal.addEventListener('abort', done, { once: true });
        if (signal.aborted) done();
      }),
    isAwaited: (id) => waiting.has(id),
    close() {
      for (const id of Array.from(waiting.keys())) ring(id);
    },
  };
}

export interface Followed {
  readonly id: SessionId;
  readonly from: Position;
  /** How many events are durable now; null when the session has to be loaded to know. */
  readonly version: () => Version | null;
  readonly load: () => Promise<Either<Rejection, unknown>>;
  readonly signal: AbortSignal;
}

/** Yields event records in order until aborted. Throws {@link FollowRefused} when reading fails. */
export async function* follow(
  journal: Journal,
  notices: ChangeNotices,
  followed: Followed,
): AsyncGenerator<EventRecord> {
  const { id, version, load, signal } = followed;
  let at: number = followed.from;
  while (!signal.aborted) {
    const now = version();
    if (now === null) {
      const loaded = await load();
      if (isLeft(loaded) && !signal.aborted) throw new FollowRefused(loaded.left);
      continue;
    }
    if (at >= now) {
      await notices.next(id, signal);
      continue;
    }
    const page = await eventRecords(journal, id, at as Position, Math.min(FOLLOW_PAGE_RECORDS, now - at));
    if (signal.aborted) return;
    if (isLeft(page)) throw new FollowRefused(page.left);
    for (const record of page.right) {
      if (signal.aborted) return;
      yield record;
      at += 1;
    }
  }
}
