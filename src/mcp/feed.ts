// One session as it grows: its state, and each event folded here, with every digest compared. It begins with the session as it
// is, so that a long stream costs nothing.
import type { SessionId } from '../../schemas/ids.ts';
import { reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../client/client.ts';
import { must } from '../client/must.ts';
import { RejectedError } from '../client/rejected-error.ts';
import { newCheckedFold } from '../client/watch/checked-fold.ts';
import type { FoldedEvent } from '../core/folded-event.ts';

export interface FeedReader {
  /** The events of one commit, in order; the state is the one after the last of them. */
  readonly onEvents: (events: readonly FoldedEvent[], state: SessionState) => void;
  /** The feed ended: nothing more will come. */
  readonly onEnd: (why: Error) => void;
}

export interface SessionFeed {
  /** The state after the last event that was read. */
  state(): SessionState;
  /** Returns what ends the reading. */
  read(reader: FeedReader): () => void;
  /** Waits for a state; rejects when the feed ends before. */
  until<T>(found: (state: SessionState) => T | null): Promise<T>;
  close(): void;
}

export async function openFeed(client: EngineClient, session: SessionId): Promise<SessionFeed> {
  const { state: first, chain } = await must(client.session(session));
  const stop = new AbortController();
  const readers = new Set<FeedReader>();
  let state = first;
  let ended: Error | null = null;

  function end(why: unknown): void {
    ended ??= why instanceof Error ? why : new Error(String(why));
    stop.abort();
    for (const reader of readers) reader.onEnd(ended);
    readers.clear();
  }

  async function follow(): Promise<void> {
    const fold = newCheckedFold(session, { state: first, chain });
    for await (const record of client.followCommits(session, { from: first.version, signal: stop.signal })) {
      const folded = fold.add(record);
      if (folded === null) continue;
      ({ state } = folded);
      for (const reader of readers) reader.onEvents(folded.events, state);
    }
    throw new RejectedError(reject('closing', '', `the connection to the engine of ${session} ended`));
  }

  follow().catch(end);

  function read(reader: FeedReader): () => void {
    if (ended === null) readers.add(reader);
    else reader.onEnd(ended);
    return () => readers.delete(reader);
  }

  return {
    state: () => state,
    read,
    until: (found) =>
      new Promise((resolve, fail) => {
        const now = found(state);
        if (now !== null) {
          resolve(now);
          return;
        }
        const done = read({
          onEvents: (_events, after) => {
            const later = found(after);
            if (later === null) return;
            done();
            resolve(later);
          },
          onEnd: fail,
        });
      }),
    close: () => end(new RejectedError(reject('closing', '', 'the server is closing'))),
  };
}
