// Calls that wait for what another bridge holds: the engine is asked now and then what is still owed.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../src/client/client.ts';
import { effects } from '../src/core/index.ts';
import { WATCH_EVERY_MS } from '../schemas/limits.ts';
import type { CallBoard } from './call-board.ts';
import { type Clock, sleep } from './clock.ts';
import type { Link } from './link.ts';

interface WatchOptions {
  readonly client: EngineClient;
  readonly clock: Clock;
  readonly link: Link;
  readonly board: CallBoard;
  /** Others may start now. */
  readonly moved: () => void;
}

/** Goes on until the signal aborts. */
export async function watchStrangers(options: WatchOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, link, board, moved } = options;
  while (!signal.aborted) {
    await sleep(clock, WATCH_EVERY_MS, signal);
    for (const session of board.watched()) {
      const view = await link.ask('session', () => client.session(session), signal);
      if (!isLeft(view)) board.observe(session, effects(view.right.state));
    }
    moved();
  }
}
