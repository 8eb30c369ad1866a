// `refold serve`: the engine process, which owns a data directory and serves it over HTTP.
import { paint } from '../../shown/paint.ts';
import { type Engine, openEngine } from '../../engine/engine.ts';
import { type EngineFault, tellError } from '../../engine/faults.ts';
import { codeOf, reasonOf, storageCode } from '../../files/file-failure.ts';
import { LOOPBACK_HOSTS } from '../../server/guard.ts';
import { serve } from '../../server/serve.ts';
import { socketFile } from '../../client/engine-address.ts';
import { readToken, tokenDirectory, tokenFile } from '../../client/token-file.ts';
import { backgroundClock } from '../../clock.ts';
import { keepPublished } from '../../server/published-address.ts';
import { openTokens } from '../../server/tokens.ts';
import type { McpHttp } from '../../mcp/http.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { makeDataDir, directoryOf } from '../data-dir.ts';
import { namingHolder } from '../engine-address.ts';
import { mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';
import { openServedCatalog, reloadOf } from '../sources/served-catalog.ts';
import { freeBytesOf, noteStorage } from '../storage-notes.ts';
import { stopRequest } from '../until-stopped.ts';
import { ENGINE_DRAIN_MS } from '../../../schemas/limits.ts';

export interface ServeCommand {
  readonly dataDir: string;
  /** The URL of the database with the journal; it is in the data directory when absent. */
  readonly journal?: string;
  readonly port: number;
  readonly host: string;
  readonly allowRemote: boolean;
  readonly exitWithParent: boolean;
  /** How long a lease lasts without a heartbeat; the engine's default when absent. */
  readonly leaseTtlMs?: number;
  /** The most sessions that may be active at a time; the engine's default when absent. */
  readonly activeSessionsMax?: number;
  /** The answers of the persons of MCP hosts count. */
  readonly hostAnswers?: boolean;
  /** How long a stop waits for bridges to report. */
  readonly drainMs?: number;
  /** The file or directory of the catalog; none when absent. */
  readonly catalog?: string;
}

export async function serveCommand(command: ServeCommand, output: Output): Promise<number> {
  const { dataDir, port, host } = command;
  if (!command.allowRemote && ![...LOOPBACK_HOSTS, '::1'].includes(host)) {
    const message = `${host} is not a loopback address. To listen there, add --allow-remote and put TLS in front of it.`;
    throw new CommandFailure('forbidden', message);
  }
  await makeDataDir(dataDir);
  const { leaseTtlMs, activeSessionsMax, journal } = command;
  const notify = (message: string): void => {
    output.line(paint.yellow(message));
    output.object({ event: 'notice', message });
  };
  const tokens = await openTokens(dataDir).catch((error: unknown) => refuseTokens(dataDir, error));
  let engineOpened: Engine | null = null;
  const catalog = await openServedCatalog(command.catalog, output, () => engineOpened);
  const bounds = {
    ...(journal === undefined ? {} : { journal }),
    ...(catalog === null ? {} : { catalog: catalog.current() }),
    ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
    ...(activeSessionsMax === undefined ? {} : { activeSessionsMax }),
  };
  const tellFault = faultTeller(output);
  const opening = openEngine({ dataDir, tell: notify, tellFault, ...bounds })().then(async (opened) =>
    mustBe(await namingHolder(dataDir, opened)),
  );
  // How much space a database has is not known here: a write that succeeds says that there is some.
  const freeBytes = (): Promise<number> => (journal === undefined ? freeBytesOf(dataDir) : Promise.resolve(Infinity));
  const opened = opening.then(({ client }) => noteStorage(client, { notify, freeBytes }));
  const onError = (error: unknown): void => tellError(tellFault, null, 'answering a request', error);
  const mcp = newMcpDoor(command, onError);
  const operations = opening.then((engine) => ({ ...engine, ...reloadOf(catalog) }));
  // The engine's own promise says why it did not open.
  operations.catch(() => undefined);
  const serving = await serve(opened, { tokens, port, host, onError, operations, mcp: mcp.open }).catch(
    async (error: unknown) => {
      await (await opening).close();
      throw new CommandFailure(
        'address_unavailable',
        `cannot listen on ${host}:${port}: ${reasonOf(error, ADDRESSES)}`,
      );
    },
  );
  const engine = await opening.catch(async (error: unknown) => {
    await serving.close();
    throw error;
  });
  engineOpened = engine;
  const unheard = await serving.listenAt(socketFile(dataDir));
  if (unheard !== null) notify(unheard);
  const address = { url: serving.url, pid: process.pid };
  const published = await keepPublished(dataDir, address, notify).catch(async (error: unknown) => {
    await serving.close();
    await engine.close();
    throw new CommandFailure('storage_failed', reasonOf(error));
  });
  const stop = stopRequest(command.exitWithParent);
  tellReady(output, dataDir, serving.url);
  for (const message of engine.notices) notify(message);
  for (const { message } of engine.faults) {
    output.line(paint.yellow(`unavailable: ${message}`));
    output.object({ event: 'fault', message });
  }
  if (catalog !== null) output.line(`catalog ${command.catalog ?? ''}  ${catalog.current().tools.length} tools`);
  await stop.asked;
  await catalog?.close();
  // Reports still arrive meanwhile, and what people ask: `refold interrupt` must find the engine until it closes. Closing the engine ends the followers after the last event; their cursors stay valid.
  await engine.drain(command.drainMs ?? ENGINE_DRAIN_MS, stop.hurry);
  await published.withdraw();
  await mcp.close();
  await engine.close();
  await serving.close();
  return 0;
}

function refuseTokens(dataDir: string, error: unknown): never {
  const code = storageCode(String(codeOf(error)));
  const next = code === 'storage_full' ? '. Free some space, then start it again.' : '';
  throw new CommandFailure(code, `the tokens in ${tokenDirectory(dataDir)} cannot be used: ${reasonOf(error)}${next}`);
}

function tellReady(output: Output, dataDir: string, url: string): void {
  output.object({ event: 'ready', url, pid: process.pid, data_dir: dataDir });
  output.line(`engine ${paint.bold(url)}  data ${dataDir}  tokens ${tokenDirectory(dataDir)}`);
  output.line(`page   ${paint.bold(`${url}/`)}  which gets its token from: refold open`);
}

/** What answers hosts at `/mcp`; it is loaded with the first of them. */
function newMcpDoor({ dataDir, hostAnswers = false }: ServeCommand, onError: (error: unknown) => void) {
  let opening: Promise<McpHttp> | null = null;
  const load = async (): Promise<McpHttp> => {
    const [{ newMcpHttp }, token] = await Promise.all([
      import('../../mcp/http.ts'),
      readToken(tokenFile(dataDir, 'operator')),
    ]);
    const key = digestText(`refold mcp serve\n${token}`);
    return newMcpHttp({ clock: backgroundClock, key, hostAnswers, place: directoryOf(dataDir), onError });
  };
  return {
    open: () => (opening ??= load()),
    close: async () => await (await opening)?.close(),
  };
}

const faultTeller =
  (output: Output) =>
  ({ session_id, doing, reason }: EngineFault): void => {
    const whose = session_id === null ? '' : `session ${session_id}: `;
    output.warn(`${paint.red('refold:')} ${whose}${doing} failed: ${reason}`);
    output.object({ event: 'fault', session_id, doing, message: reason });
  };

/** Why listening fails, and what to do. */
const ADDRESSES = {
  EADDRINUSE: 'another process listens there; choose another port with --port, or 0 for any free port',
  EADDRNOTAVAIL: 'this machine has no such address',
};
