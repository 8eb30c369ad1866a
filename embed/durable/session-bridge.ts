// The bridge of one session, whose model and tools are the loop of a framework.
import { type Executor, type Provider, combineExecutors, runBridge, systemClock } from '../../bridge/index.ts';
import type { OwnerId, SessionId } from '../../schemas/index.ts';
import { type LocalPorts, ledgerFor } from '../runs/open-local.ts';
import type { SharedEngine } from './shared-engine.ts';

export interface SessionBridge {
  /** Stops what runs and gives the leases back. */
  readonly close: () => Promise<void>;
}

export interface SessionBridgeOptions extends Omit<LocalPorts, 'owner'> {
  readonly owner: OwnerId;
  readonly engine: SharedEngine;
  readonly session: SessionId;
  readonly provider: Provider;
  readonly executor: Executor;
  readonly stateDir?: string;
  readonly onFailure: (error: unknown) => void;
}

export async function startBridge(options: SessionBridgeOptions): Promise<SessionBridge> {
  const { engine, session, owner, provider, executor, onFailure } = options;
  const { place, client } = engine;
  const ledger = await ledgerFor(place, options.stateDir, owner);
  const stop = new AbortController();
  const serving = runBridge({
    client,
    owner,
    executors: combineExecutors([executor]),
    provider,
    sessions: [session],
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    log: options.log ?? (() => undefined),
    signal: stop.signal,
    secrets: [...(options.secrets ?? []), ...('token' in place ? [place.token] : [])],
    ...(ledger === null ? {} : { ledger }),
    ...(options.concurrency === undefined ? {} : { concurrency: options.concurrency }),
  }).catch(onFailure);
  return {
    async close() {
      stop.abort();
      await serving;
      await ledger?.close();
    },
  };
}
