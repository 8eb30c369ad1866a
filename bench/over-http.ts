// An engine and a bridge as separate processes over HTTP, as `refold serve` and `refold bridge` run them.
import { join } from 'node:path';
import { connect } from '../src/client/index.ts';
import { readToken, tokenFile } from '../src/client/token-file.ts';
import type { InProcess } from './in-process.ts';
import { BRIDGE_PROCESS, type ChildLine, startChild, startServe } from './processes.ts';
import { runRound } from './round.ts';
import { newStopwatch } from './stopwatch.ts';

export async function openOverHttp(directory: string): Promise<InProcess> {
  const dataDir = join(directory, 'data');
  const engine = await startServe(dataDir);
  const { url } = engine.ready;
  const stopwatch = newStopwatch();
  const bridge = await startChild<ChildLine>([BRIDGE_PROCESS, url, tokenFile(dataDir, 'bridge')], (line) => {
    if (line.event === 'turns') stopwatch.mark(line.session, line.which, line.at_ms);
  });
  const client = connect(url, await readToken(tokenFile(dataDir, 'operator')));
  return {
    run: (round) => runRound(client, stopwatch, round),
    async close() {
      await client.close();
      await bridge.stop();
      await engine.stop();
    },
  };
}
