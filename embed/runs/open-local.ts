// An engine and a bridge in this process, over one data directory: what every sub-path of this folder runs on.
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import {
  type BridgeClock,
  type BridgeLogLine,
  type Executor,
  type Provider,
  combineExecutors,
  openFileLedger,
  runBridge,
  systemClock,
} from '../../bridge/index.ts';
import { type OwnerId, type SessionId, brand } from '../../schemas/index.ts';
import { type EngineClient, allSessions, must } from '../../src/client/index.ts';
import { type EngineOptions, openEngine } from '../../src/index.ts';

/** The ports of an engine and a bridge; each has a default. */
export interface LocalPorts extends Pick<EngineOptions, 'tell' | 'tellFault' | 'activeSessionsMax' | 'leaseTtlMs'> {
  readonly clock?: BridgeClock;
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

export interface LocalOptions extends LocalPorts {
  /** Created when it does not exist. Only one process at a time may open it. */
  readonly dataDir: string;
  readonly provider: Provider;
  readonly executors: readonly Executor[];
}

export interface Local {
  readonly client: EngineClient;
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

/** Opens both. What earlier processes left unfinished goes on at once. Throws a RejectedError when the engine refuses. */
export async function openLocal(options: LocalOptions): Promise<Local> {
  const { dataDir, provider, clock = systemClock, random = Math.random, newId = randomUUID } = options;
  const owner: OwnerId = brand(options.owner ?? `agent-${process.pid}-${randomUUID().slice(0, 8)}`);
  const executors = combineExecutors(options.executors);
  const engine = await must(openEngine({ ...enginePorts(options), dataDir }));
  const closeEngine = async (error: unknown): Promise<never> => {
    await engine.close();
    throw error;
  };
  // Before the bridge begins: it may end them before anyone asks for them.
  const unfinished = await unfinishedSessions(engine.client).catch(closeEngine);
  const ledger = await openFileLedger(join(dataDir, 'bridges'), owner).catch(closeEngine);
  const stop = new AbortController();
  const serving = runBridge({
    client: engine.client,
    owner,
    executors,
    provider,
    ledger,
    clock,
    random,
    log: options.log ?? (() => undefined),
    signal: stop.signal,
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
    ...(options.secrets === undefined ? {} : { secrets: options.secrets }),
  });
  const failed = serving.then(() => new Promise<never>(() => undefined));
  failed.catch(() => undefined);
  const end = async (): Promise<void> => {
    stop.abort();
    await serving.catch(() => undefined);
    await ledger.close();
    await engine.close();
  };
  let ending: Promise<void> | null = null;
  const close = (): Promise<void> => (ending ??= end());
  return { client: engine.client, clock, newId, unfinished, failed, closing: stop.signal, close };
}

async function unfinishedSessions(client: EngineClient): Promise<Set<SessionId>> {
  const found = new Set<SessionId>();
  for (const filter of [{ owing: true }, { waiting: true }, { status: 'paused' }] as const) {
    for await (const { session_id } of allSessions(client, filter)) found.add(session_id);
  }
  return found;
}

const enginePorts = (options: LocalOptions): Omit<EngineOptions, 'dataDir'> => {
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
