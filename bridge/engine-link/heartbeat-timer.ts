// When the next heartbeat is due: three times in the life of a lease.
import { LEASE_TTL_MS } from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';

export interface HeartbeatTimer {
  setTtl(ttlMs: number): void;
  /** Null until the engine has stated it. */
  ttlMs(): number | null;
  /** Waits until the next heartbeat is due; false when the signal aborts or the duration of leases changes first. */
  isDue(signal: AbortSignal): Promise<boolean>;
}

export function newHeartbeatTimer(clock: BridgeClock): HeartbeatTimer {
  let ttlMs: number | null = null;
  let endWait = (): void => undefined;
  return {
    ttlMs: () => ttlMs,
    // When leases are shorter than assumed, the next heartbeat is planned again.
    setTtl(next) {
      if (next === ttlMs) return;
      ttlMs = next;
      endWait();
    },
    isDue: (signal) =>
      new Promise((resolve) => {
        const end = (due: boolean): void => {
          signal.removeEventListener('abort', giveUp);
          cancel();
          endWait = () => undefined;
          resolve(due);
        };
        const giveUp = (): void => end(false);
        endWait = giveUp;
        const cancel = clock.after(Math.max(1, Math.floor((ttlMs ?? LEASE_TTL_MS) / 3)), () => end(true));
        if (signal.aborted) giveUp();
        else signal.addEventListener('abort', giveUp);
      }),
  };
}
