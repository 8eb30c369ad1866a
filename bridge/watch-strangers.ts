// Calls that wait for what another bridge holds: the engine is asked now and then what is still owed. Where no call
// waits, nobody is asked, and no timer runs.
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
  /** Nobody is asked any more once it aborts. */
  readonly signal: AbortSignal;
}

export interface StrangerWatch {
  /** Has the engine asked after a while, when calls wait here. */
  consider(): void;
}

export function newStrangerWatch({ client, clock, link, board, moved, signal }: WatchOptions): StrangerWatch {
  let planned = false;

  async function look(): Promise<void> {
    await sleep(clock, WATCH_EVERY_MS, signal);
    for (const session of board.watched()) {
      const view = await link.ask('session', () => client.session(session), signal);
      if (!isLeft(view)) board.observe(session, effects(view.right.state));
    }
    planned = false;
    moved();
  }

  return {
    consider() {
      if (planned || signal.aborted || !board.isWaiting()) return;
      planned = true;
      void look();
    },
  };
}
