// Follows a session by folding its stream as it grows. What is shown comes from the log, and every digest is checked.
import type { Digest, SessionId } from '../../schemas/ids.ts';
import type { EventRecord } from '../../schemas/record.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { EngineClient } from '../client/client.ts';
import { newReplayer } from '../core/replay.ts';
import { must } from '../client/must.ts';
import { CommandFailure } from './output.ts';

export interface Watched {
  readonly record: EventRecord;
  readonly before: SessionState;
  readonly after: SessionState;
}

export interface WatchEnd {
  readonly state: SessionState;
  readonly stateDigest: Digest;
}

/** Calls `onEvent` for each event, from the first, until `isOver` returns true; returns the state at that point. */
export async function watch(
  client: EngineClient,
  id: SessionId,
  onEvent: (watched: Watched) => void,
  isOver: (state: SessionState) => boolean,
): Promise<WatchEnd> {
  const replayer = newReplayer();
  const [genesis] = await must(client.records(id, undefined, 1));
  if (genesis?.kind === 'genesis') replayer.add(genesis);
  const over = new AbortController();
  try {
    for await (const record of client.follow(id, { signal: over.signal })) {
      const before = replayer.result().state;
      replayer.add(record);
      const { state, stateDigest, divergence } = replayer.result();
      if (divergence !== null || before === null || state === null || stateDigest === null) {
        const what = divergence === null ? 'no genesis record' : divergence.message;
        throw new CommandFailure(
          'divergence',
          `the stream of ${id} does not fold as recorded: ${what}. For details: refold verify ${id}`,
          1,
        );
      }
      onEvent({ record, before, after: state });
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
