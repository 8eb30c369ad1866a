// Calls that wait for what another bridge holds: the engine is asked now and then what is still owed. Where no call
// waits, nobody is asked, and no timer runs.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import { effects } from '../../src/core/index.ts';
import { WATCH_EVERY_MS } from '../../schemas/limits.ts';
import type { CallSchedule } from './call-schedule.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import type { Link } from '../engine-link/link.ts';

interface WatchOptions {
  readonly client: EngineClient;
  readonly clock: BridgeClock;
  readonly link: Link;
  readonly schedule: CallSchedule;
  /** Others may start now. */
  readonly moved: () => void;
  /** Nobody is asked any more once it aborts. */
  readonly signal: AbortSignal;
}

export interface OtherBridgesWatch {
  /** Has the engine asked after a while, when calls wait here. */
  consider(): void;
}

export function newOtherBridgesWatch({
  client,
  clock,
  link,
  schedule,
  moved,
  signal,
}: WatchOptions): OtherBridgesWatch {
  let planned = false;

  async function look(): Promise<void> {
    await sleep(clock, WATCH_EVERY_MS, signal);
    for (const session of schedule.watched()) {
      const view = await link.ask('session', () => client.session(session), signal);
      if (!isLeft(view)) schedule.observe(session, effects(view.right.state));
    }
    planned = false;
    moved();
  }

  return {
    consider() {
      if (planned || signal.aborted || !schedule.isWaiting()) return;
      planned = true;
      void look();
    },
  };
}
