// An engine on LevelDB and a bridge in this process, as an embedding application uses them.
import { systemClock } from '../src/clock.ts';
import { runBridge } from '../bridge/loop.ts';
import { brand } from '../schemas/ids.ts';
import type { EngineClient } from '../src/client/client.ts';
import { type Engine, openEngine } from '../src/engine/engine.ts';
import { benchExecutors, benchProvider } from './actors.ts';
import { must } from '../src/client/must.ts';
import { type Round, runRound } from './round.ts';
import { newStopwatch } from './stopwatch.ts';

export interface InProcess {
  /** Turns in a second. */
  run(round: Round): Promise<number>;
  close(): Promise<void>;
}

export const openInProcess = async (dataDir: string): Promise<InProcess> =>
  bridgeTo(await must(openEngine({ dataDir })));

/** `clientOf` wraps the client that the bridge uses. */
export function bridgeTo(
  engine: Pick<Engine, 'client' | 'close'>,
  clientOf: (client: EngineClient) => EngineClient = (client) => client,
): InProcess {
  const stopwatch = newStopwatch();
  const stop = new AbortController();
  const served = runBridge({
    client: clientOf(engine.client),
    owner: brand('bench'),
    executors: benchExecutors(),
    provider: benchProvider((session, which) => stopwatch.mark(session, which, performance.now())),
    clock: systemClock,
    random: Math.random,
    log: () => undefined,
    signal: stop.signal,
  });
  return {
    // When the bridge ends, the round would never finish.
    run: (round) => Promise.race([runRound(engine.client, stopwatch, round), served.then(() => NaN)]),
    async close() {
      stop.abort();
      await served;
      await engine.close();
    },
  };
}
