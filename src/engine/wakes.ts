// Wakes: a time that state waits for is an effect, and its arrival an event. The engine keeps them itself, one timer
// for each session, because nothing but a clock is needed.
import { nextDeadline } from '../../reducers/deadlines.ts';
import type { SessionId } from '../../schemas/ids.ts';
import { RETRY_MS, WAKE_CHECK_MS_MAX } from '../../schemas/limits.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { Clock } from '../clock.ts';

export interface Wakes {
  /** A session was loaded, or has adopted events: it may wait for another time. */
  update(session: SessionId, state: SessionState): void;
  close(): void;
}

/** Reports the time; false when that has to be tried again. Never rejects. */
export type OnDue = (session: SessionId, atMs: number) => Promise<boolean>;

interface Timer {
  readonly atMs: number;
  cancel: () => void;
}

export function newWakes(clock: Clock, onDue: OnDue): Wakes {
  const timers = new Map<SessionId, Timer>();

  function start(session: SessionId, timer: Timer, inMs: number): void {
    timer.cancel = clock.after(Math.min(inMs, WAKE_CHECK_MS_MAX), () => {
      if (clock.now() < timer.atMs) start(session, timer, timer.atMs - clock.now());
      else void ring(session, timer);
    });
  }

  async function ring(session: SessionId, timer: Timer): Promise<void> {
    const taken = await onDue(session, timer.atMs);
    // Once it is adopted the state waits for no such time, and the timer is gone.
    if (timers.get(session) !== timer) return;
    if (taken) timers.delete(session);
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
