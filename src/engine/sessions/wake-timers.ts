// Reports the times that sessions wait for (their `wake` effects) as `TimeReached` events. That needs only a clock and no
// bridge: the engine keeps one timer for each session.
import { nextDeadline } from '../../../reducers/deadlines.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import { RETRY_MS, WAKE_CHECK_MS_MAX } from '../../../schemas/limits.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { Clock } from '../../clock.ts';

export interface WakeTimers {
  /** A session was loaded or has adopted events: the time that it waits for may have changed. */
  update(session: SessionId, state: SessionState): void;
  close(): void;
}

/** Reports that the time has come; false when the report must be tried again. Never rejects. */
export type OnDue = (session: SessionId, atMs: number) => Promise<boolean>;

interface Timer {
  readonly atMs: number;
  cancel: () => void;
}

export function newWakeTimers(clock: Clock, onDue: OnDue): WakeTimers {
  const timers = new Map<SessionId, Timer>();

  function start(session: SessionId, timer: Timer, inMs: number): void {
    timer.cancel = clock.after(Math.min(inMs, WAKE_CHECK_MS_MAX), () => {
      if (clock.now() < timer.atMs) start(session, timer, timer.atMs - clock.now());
      else void report(session, timer);
    });
  }

  async function report(session: SessionId, timer: Timer): Promise<void> {
    const done = await onDue(session, timer.atMs);
    // Adopting the event may have replaced the timer.
    if (timers.get(session) !== timer) return;
    if (done) timers.delete(session);
    else start(session, timer, RETRY_MS);
  }

  return {
    update(session, state) {
      const atMs = nextDeadline(state);
      const known = timers.get(session);
      if ((known?.atMs ?? null) === atMs) return;
      known?.cancel();
      timers.delete(session);
      if (atMs === null) return;
      const timer: Timer = { atMs, cancel: () => undefined };
      timers.set(session, timer);
      start(session, timer, Math.max(0, atMs - clock.now()));
    },
    close() {
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
    },
  };
}
