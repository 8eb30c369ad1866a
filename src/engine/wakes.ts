// Wakes: a time that state waits for is an effect, and its arrival an event. The engine keeps them itself, one timer
// for each session, because nothing but a clock is needed.
import type { EventOfKind } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { effects } from '../core/effects.ts';
import type { Clock } from './clock.ts';
import type { LiveSession } from './session.ts';

export interface Wakes {
  /** A session was loaded, or has adopted events: it may wait for another time. */
  update(session: LiveSession): void;
  close(): void;
}

type Due = Omit<EventOfKind<'TimeReached'>, 'v' | 'at_ms'>;

export function newWakes(clock: Clock, onDue: (session: LiveSession, due: Due) => void): Wakes {
  const timers = new Map<SessionId, { readonly atMs: number; readonly cancel: () => void }>();

  function set(session: LiveSession, atMs: number): void {
    const ring = (): void => {
      timers.delete(session.id);
      if (clock.now() < atMs) set(session, atMs);
      else onDue(session, { kind: 'TimeReached', event_id: brand(`wake/${atMs}`), due_at_ms: atMs });
    };
    timers.set(session.id, { atMs, cancel: clock.after(atMs - clock.now(), ring) });
  }

  return {
    update(session) {
      const wake = effects(session.state()).find((effect) => effect.kind === 'wake');
      const timer = timers.get(session.id);
      if (timer?.atMs === wake?.at_ms) return;
      timer?.cancel();
      timers.delete(session.id);
      if (wake !== undefined) set(session, wake.at_ms);
    },
    close() {
      for (const { cancel } of timers.values()) cancel();
      timers.clear();
    },
  };
}
