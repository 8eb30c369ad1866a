// Following a stream: what is stored, then what is adopted, from one pointer. A slow reader costs no memory, because
// it reads from the journal at its own pace and is only told that there is more.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { Position, SessionId, Version } from '../../schemas/ids.ts';
import { READ_PAGE_RECORDS } from '../../schemas/limits.ts';
import type { EventRecord } from '../../schemas/record.ts';
import type { Journal } from '../journal/journal.ts';
import { eventRecords } from './records.ts';

export interface Bells {
  /** Something was adopted in this session. */
  ring(id: SessionId): void;
  /** Resolves at the next ring of this session, or when aborted. */
  next(id: SessionId, signal: AbortSignal): Promise<void>;
  /** Ends all waiting. */
  close(): void;
}

export function newBells(): Bells {
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
          signal.removeEventListener('abort', done);
          resolve();
        };
        answers.add(done);
        signal.addEventListener('abort', done, { once: true });
        if (signal.aborted) done();
      }),
    close() {
      for (const id of Array.from(waiting.keys())) ring(id);
    },
  };
}

export interface Followed {
  readonly id: SessionId;
  readonly from: Position;
  /** How many events are durable now. */
  readonly version: () => Version;
  readonly signal: AbortSignal;
}

/** Yields event records in order until aborted. Throws an Error with the rejection's text when reading fails. */
export async function* follow(journal: Journal, bells: Bells, followed: Followed): AsyncGenerator<EventRecord> {
  const { id, version, signal } = followed;
  let at: number = followed.from;
  while (!signal.aborted) {
    if (at >= version()) {
      await bells.next(id, signal);
      continue;
    }
    const limit = Math.min(READ_PAGE_RECORDS, version() - at);
    const page = await eventRecords(journal, id, at as Position, limit);
    if (isLeft(page)) throw new Error(`${page.left.code}: ${page.left.message}`);
    for (const record of page.right) {
      if (signal.aborted) return;
      yield record;
      at += 1;
    }
  }
}
