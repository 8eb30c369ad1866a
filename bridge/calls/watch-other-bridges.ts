// Watches for calls that other bridges settle: while a call waits for one that this bridge does not hold, asks the engine
// every `WATCH_EVERY_MS` what is still owed. While no call waits, no timer runs.
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
  /** Starts the calls that may run now. */
  readonly startReady: () => void;
  /** Ends the watch. */
  readonly signal: AbortSignal;
}

export interface OtherBridgesWatch {
  /** Plans the next request to the engine if calls wait here. */
  checkLater(): void;
}

export function newOtherBridgesWatch({
  client,
  clock,
  link,
  schedule,
  startReady,
  signal,
}: WatchOptions): OtherBridgesWatch {
  let planned = false;

  async function check(): Promise<void> {
    await sleep(clock, WATCH_EVERY_MS, signal);
    for (const session of schedule.blockedElsewhere()) {
      const view = await link.ask('session', () => client.session(session), signal);
      if (!isLeft(view)) schedule.observe(session, effects(view.right.state));
    }
    planned = false;
    startReady();
  }

  return {
    checkLater() {
      if (planned || signal.aborted || !schedule.isWaiting()) return;
      planned = true;
      void check();
    },
  };
}
