// Follows a session by folding its stream as it grows. What is shown comes from the log, and every digest is checked.
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { DeltaFrame } from '../../schemas/wire.ts';
import type { EngineClient } from '../client/client.ts';
import type { FoldedEvent } from '../core/folded-event.ts';
import { newReplayer } from '../core/replay.ts';
import { must } from '../client/must.ts';
import { CommandFailure } from './output.ts';

export interface WatchEnd {
  readonly state: SessionState;
  readonly stateDigest: Digest;
}

export interface Watcher {
  readonly onEvent: (folded: FoldedEvent) => void;
  /** What the model writes; nothing of it is checked or recorded. */
  readonly onDelta: (frame: DeltaFrame) => void;
  readonly isOver: (state: SessionState) => boolean;
}

/**
 * Calls `onEvent` for each event, from the first, once its commit is checked, until the state after a commit is one that
 * `isOver` returns true for; returns that state.
 */
export async function watchRun(
  client: EngineClient,
  id: SessionId,
  { onEvent, onDelta, isOver }: Watcher,
): Promise<WatchEnd> {
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((event) => folded.push(event));
  for (const record of await must(client.records(id, undefined, 1))) if (record.kind !== 'commit') replayer.add(record);
  const over = new AbortController();
  try {
    for await (const commit of client.followLive(id, { signal: over.signal })) {
      if (commit.kind === 'delta') {
        onDelta(commit);
        continue;
      }
      replayer.add(commit);
      const { state, stateDigest, divergence } = replayer.result();
      if (divergence !== null || state === null || stateDigest === null) {
        throw new CommandFailure(
          'divergence',
          `the stream of ${id} does not fold as recorded: ${divergence?.message}. For details: refold verify ${id}`,
          1,
        );
      }
      for (const event of folded.splice(0)) onEvent(event);
      if (isOver(state)) return { state, stateDigest };
    }
  } finally {
    over.abort();
  }
  throw new CommandFailure(
    'closing',
    `the connection to the engine ended before the run of ${id}. To see its state: refold show ${id}`,
  );
}
