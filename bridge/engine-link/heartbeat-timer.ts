// Times the heartbeats: three in the life of a lease.
import { LEASE_TTL_MS } from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';

export interface HeartbeatTimer {
  setTtl(ttlMs: number): void;
  /** Null until the engine has stated it. */
  ttlMs(): number | null;
  /** Resolves to true when the next heartbeat is due; to false when the signal aborts or the duration of leases changes first. */
  untilDue(signal: AbortSignal): Promise<boolean>;
}

export function newHeartbeatTimer(clock: BridgeClock): HeartbeatTimer {
  let ttlMs: number | null = null;
  let endWait = (): void => undefined;
  return {
    ttlMs: () => ttlMs,
    // The wait in progress was planned with another duration, so it ends and is planned again.
    setTtl(next) {
      if (next === ttlMs) return;
      ttlMs = next;
      endWait();
    },
    untilDue: (signal) =>
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
