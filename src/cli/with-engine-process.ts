// Gives a command an engine that other processes can reach: the running one, or one started for the command.
import type { EngineClient } from '../client/client.ts';
import { connect } from '../client/http-client.ts';
import { refuseStranger } from '../files/listening-user.ts';
import { readToken, tokenFile } from '../client/token-file.ts';
import { requireData } from './data-dir.ts';
import { findEngine } from './engine-address.ts';
import { startEngineProcess } from './processes.ts';

interface ReachableEngine {
  readonly client: EngineClient;
  readonly url: string;
}

export async function withEngineProcess<T>(dataDir: string, work: (engine: ReachableEngine) => Promise<T>): Promise<T> {
  const running = await findEngine(dataDir);
  if (running !== null) return await work(running).finally(() => running.client.close());
  await requireData(dataDir);
  const started = await startEngineProcess(dataDir, 0);
  try {
    const url = String(started.ready['url']);
    const operator = tokenFile(dataDir, 'operator');
    const client = connect(url, await readToken(operator), { refuseListener: refuseStranger(url, operator) });
    return await work({ client, url }).finally(() => client.close());
  } finally {
    await started.stop();
  }
}
