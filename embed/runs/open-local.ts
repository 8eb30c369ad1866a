// A bridge in this process, and its engine, here or elsewhere: what every sub-path of this folder runs on.
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  type BridgeClock,
  type BridgeLedger,
  type BridgeLogLine,
  type Executor,
  type Provider,
  combineExecutors,
  openFileLedger,
  runBridge,
  systemClock,
} from '../../bridge/index.ts';
import { type OwnerId, type SessionId, brand } from '../../schemas/index.ts';
import { type EngineClient, allSessions, connect, must } from '../../src/client/index.ts';
import { type EngineOptions, openEngine, readToken, serveDataDir, tokenFile } from '../../src/index.ts';
import { type EnginePlace, type PlacedEngine, placeOf } from './engine-place.ts';

/**
 * The ports of an engine and a bridge; each has a default. `tell`, `tellFault`, `activeSessionsMax` and `leaseTtlMs` are those
 * of an engine in this process.
 */
export interface LocalPorts extends Pick<EngineOptions, 'tell' | 'tellFault' | 'activeSessionsMax' | 'leaseTtlMs'> {
  /** Reads the time and sets timers; the clock of the system by default. */
  readonly clock?: BridgeClock;
  /** A number from 0 to below 1, for the jitter of retries; `Math.random` by default. */
  readonly random?: () => number;
  /** Makes unique ids; random ones by default. */
  readonly newId?: () => string;
  /** Names this process; no other live one over the same data directory may use the same name. */
  readonly owner?: string;
  /** Takes the log lines of the bridge; nothing is logged by default. */
  readonly log?: (line: BridgeLogLine) => void;
  /** Maximum of concurrent calls over all sessions; 256 by default. */
  readonly concurrency?: number;
  /** Values of at least 16 characters that are replaced in everything that is recorded. */
  readonly secrets?: readonly string[];
}

export interface LocalOptions extends LocalPorts, EnginePlace {
  readonly provider: Provider;
  readonly executors: readonly Executor[];
  /** Brings an unfinished session up to date, before the bridge leases any of its calls. */
  readonly renew?: (client: EngineClient, session: SessionId) => Promise<void>;
  /** The bridge serves these sessions only; all of the engine by default. */
  readonly sessions?: readonly SessionId[];
}

export interface Local {
  readonly client: EngineClient;
  /** Where the engine listens; null for one in this process that is not served. */
  readonly url: string | null;
  readonly clock: BridgeClock;
  readonly newId: () => string;
  /** The sessions whose run was not over when they were opened. */
  readonly unfinished: Set<SessionId>;
  /** Rejects when the bridge has failed, with its fault; never resolves. */
  readonly failed: Promise<never>;
  /** Aborts when `close` begins. */
  readonly closing: AbortSignal;
  /** Stops what runs, gives leases back and closes the stores. Runs that are not over go on when they are opened again. */
  close(): Promise<void>;
}

/**
 * Opens both. What earlier processes left unfinished goes on at once. Throws an EnginePlaceError when the options do not say
 * where the engine is, and a RejectedError when the engine refuses, or does not answer.
 */
export async function openLocal(options: LocalOptions): Promise<Local> {
  const { provider, clock = systemClock, random = Math.random, newId = randomUUID } = options;
  const place = placeOf(options);
  const owner: OwnerId = brand(options.owner ?? `agent-${process.pid}-${randomUUID().slice(0, 8)}`);
  const executors = combineExecutors(options.executors);
  const engine = await openPlaced(place, options);
  const closeEngine = async (error: unknown): Promise<never> => {
    await engine.close();
    throw error;
  };
  // Before the bridge begins: it may end them before anyone asks for them.
  const unfinished = await unfinishedSessions(engine.client, options.sessions).catch(closeEngine);
  await renewAll(options, engine.client, unfinished).catch(closeEngine);
  const ledger = await ledgerFor(place, options.stateDir, owner).catch(closeEngine);
  const stop = new AbortController();
  const secrets = [...(options.secrets ?? []), ...(await tokensOf(place))];
  const serving = runBridge({
    client: engine.client,
    owner,
    executors,
    provider,
    clock,
    random,
    log: options.log ?? (() => undefined),
    signal: stop.signal,
    secrets,
    ...(ledger === null ? {} : { ledger }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.sessions === undefined ? {} : { sessions: options.sessions }),
  });
  const failed = serving.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await serving.catch(() => undefined);
    await ledger?.close();
    await engine.close();
  };
  let ending: Promise<void> | null = null;
  const close = (): Promise<void> => (ending ??= end());
  return { client: engine.client, url: engine.url, clock, newId, unfinished, failed, closing: stop.signal, close };
}

export type OpenedEngine = Pick<Local, 'client' | 'url' | 'close'>;

/** Opens the engine, or connects to it. Throws a RejectedError when it cannot be opened. */
export async function openPlaced(place: PlacedEngine, options: LocalPorts): Promise<OpenedEngine> {
  if ('url' in place) {
    const client = connect(place.url, place.token);
    return { client, url: place.url, close: () => client.close() };
  }
  const { dataDir, port } = place;
  const engine = await must(openEngine({ ...enginePorts(options), dataDir }));
  const { client } = engine;
  if (port === null) return { client, url: null, close: () => engine.close() };
  const { tell } = options;
  const operations = Promise.resolve(engine);
  const notify = tell === undefined ? {} : { notify: tell };
  const serving = await serveDataDir(client, { dataDir, port, operations, ...notify }).catch(async (error: unknown) => {
    await engine.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    await serving.close();
    await engine.close();
  };
  return { client, url: serving.url, close };
}

/** The tokens of the engine: no result of a tool may show one. */
async function tokensOf(place: PlacedEngine): Promise<readonly string[]> {
  if ('token' in place) return [place.token];
  const names = await readdir(dirname(tokenFile(place.dataDir, 'operator'))).catch(() => []);
  // An unfinished or damaged file holds no token that the engine accepts.
  const tokens = names.map((name) => readToken(tokenFile(place.dataDir, name)).catch(() => ''));
  return (await Promise.all(tokens)).filter((token) => token !== '');
}

/**
 * Where the bridge notes what it starts; null when there is no directory for it. Beside the journal of its engine the notes
 * need not wait for the disk: the journal does.
 */
export async function ledgerFor(
  place: PlacedEngine,
  stateDir: string | undefined,
  owner: OwnerId,
): Promise<BridgeLedger | null> {
  if (stateDir !== undefined) return await openFileLedger(stateDir, owner);
  return 'dataDir' in place ? await openFileLedger(join(place.dataDir, 'bridges'), owner, { synced: false }) : null;
}

async function renewAll(
  { renew }: LocalOptions,
  client: EngineClient,
  unfinished: ReadonlySet<SessionId>,
): Promise<void> {
  if (renew === undefined) return;
  for (const session of unfinished) await renew(client, session);
}

async function unfinishedSessions(
  client: EngineClient,
  only: readonly SessionId[] | undefined,
): Promise<Set<SessionId>> {
  const found = new Set<SessionId>();
  for (const filter of [{ owing: true }, { waiting: true }, { status: 'paused' }] as const) {
    for await (const { session_id } of allSessions(client, filter)) {
      if (only?.includes(session_id) !== false) found.add(session_id);
    }
  }
  return found;
}

const enginePorts = (options: LocalPorts): Omit<EngineOptions, 'dataDir'> => {
  const { clock, random, newId, tell, tellFault, activeSessionsMax, leaseTtlMs } = options;
  return {
    ...(clock === undefined ? {} : { clock }),
    ...(random === undefined ? {} : { random }),
    ...(newId === undefined ? {} : { newId }),
    ...(tell === undefined ? {} : { tell }),
    ...(tellFault === undefined ? {} : { tellFault }),
    ...(activeSessionsMax === undefined ? {} : { activeSessionsMax }),
    ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
  };
};
