// When the tools of a server must be listed again: it has announced a change, or its listing is no longer trusted. A server that
// goes on announcing changes is listed less and less often.
import { MCP_CHANGES_MS, MCP_CHANGES_MS_MAX } from '../../schemas/limits.ts';
import { type BridgeClock, sleep } from '../../src/clock.ts';
import { newWakeUp } from '../engine-link/wake-up.ts';

export interface Staleness {
  /** The server has announced a change. */
  mark(): void;
  /** Resolves when the tools are to be listed again, or `over` aborts. `ttlMs`: how long the last listing is trusted. */
  wait(ttlMs: number | null, over: AbortSignal): Promise<void>;
}

export function newStaleness(clock: BridgeClock): Staleness {
  const changed = newWakeUp();
  let isStale = false;
  let restMs: number = MCP_CHANGES_MS;
  let listedAtMs = -Infinity;

  return {
    mark() {
      isStale = true;
      changed.wake();
    },
    async wait(ttlMs, over) {
      if (!isStale && ttlMs === null) await changed.wait(over);
      else if (!isStale && ttlMs !== null) {
        const round = new AbortController();
        await Promise.race([changed.wait(round.signal), sleep(clock, ttlMs, over, round.signal)]);
        round.abort();
      }
      const sinceMs = clock.elapsed() - listedAtMs;
      restMs = sinceMs > MCP_CHANGES_MS_MAX ? MCP_CHANGES_MS : Math.min(2 * restMs, MCP_CHANGES_MS_MAX);
      if (sinceMs < restMs) await sleep(clock, restMs - sinceMs, over);
      isStale = false;
      listedAtMs = clock.elapsed();
    },
  };
}
