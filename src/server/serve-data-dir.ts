// Serves the engine of a data directory as `refold serve` does, from any program: with the tokens of the directory, at an
// address that is published there, so that commands such as `refold approve` use this engine.
import type { EngineClient } from '../client/client.ts';
import { socketFile } from '../client/engine-address.ts';
import type { Serving } from './listen.ts';
import { keepPublished } from './published-address.ts';
import { type ServeOptions, serve } from './serve.ts';
import { openTokens } from './tokens.ts';

/** How {@link serveDataDir} serves. */
export interface ServeDataDirOptions extends Pick<ServeOptions, 'onError' | 'operations'> {
  /** The directory that the engine has open. Its tokens are created where they are missing. */
  readonly dataDir: string;
  /** The TCP port on loopback; 0, the default, for any free one. */
  readonly port?: number;
  /** Called with a message when the address cannot be published yet, because the disk is full. */
  readonly notify?: (message: string) => void;
}

/**
 * Serves an engine on loopback and publishes its address in its data directory. Close it before the engine: the address is
 * withdrawn first. Rejects when the tokens cannot be used, when it cannot listen, or when the address cannot be published.
 */
export async function serveDataDir(client: EngineClient, options: ServeDataDirOptions): Promise<Serving> {
  const { dataDir, port = 0, notify = () => undefined, onError, operations } = options;
  const serving = await serve(client, {
    tokens: await openTokens(dataDir),
    port,
    ...(onError === undefined ? {} : { onError }),
    ...(operations === undefined ? {} : { operations }),
  });
  const { url } = serving;
  const unheard = await serving.listenAt(socketFile(dataDir));
  if (unheard !== null) notify(unheard);
  const published = await keepPublished(dataDir, { url, pid: process.pid }, notify).catch(async (error: unknown) => {
    await serving.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    await published.withdraw();
    await serving.close();
  };
  return { url, close };
}
