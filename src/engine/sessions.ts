// The sessions of one engine: created, loaded when they are first asked for, and loaded again when a write left it
// open what the journal holds.
import { type Either, isLeft, right } from 'fp-ts/lib/Either.js';
import { canonicalText } from '../../schemas/canonical.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { CreateSession, SessionSummary } from '../../schemas/wire.ts';
import { defaultGenesis } from '../core/genesis.ts';
import { genesisChain } from '../core/chain.ts';
import { checkGenesis, initialState } from '../core/initial-state.ts';
import { loadSession } from './load-session.ts';
import { LiveSession, type SessionPorts } from './session.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface Sessions {
  create(request: CreateSession): Answer<SessionSummary>;
  get(id: SessionId): Answer<LiveSession>;
  /** Loads every session that owes something; the ones that do not verify are given back with the reason. */
  loadOwing(): Answer<readonly Rejection[]>;
}

export interface SessionsOptions {
  readonly ports: Omit<SessionPorts, 'onLost'>;
  readonly newSessionId: () => SessionId;
  readonly onLoaded: (session: LiveSession, events: readonly IngressEvent[]) => void;
  readonly onLost: (session: LiveSession) => void;
}

export function newSessions({ ports, newSessionId, onLoaded, onLost }: SessionsOptions): Sessions {
  const live = new Map<SessionId, Answer<LiveSession>>();
  const sessionPorts: SessionPorts = {
    ...ports,
    onLost: (session) => {
      live.delete(session.id);
      onLost(session);
    },
  };

  async function load(id: SessionId): Answer<LiveSession> {
    const loaded = await loadSession(ports.journal, id);
    if (isLeft(loaded)) {
      live.delete(id);
      return loaded;
    }
    const session = new LiveSession(loaded.right, sessionPorts);
    onLoaded(session, []);
    return right(session);
  }

  function get(id: SessionId): Answer<LiveSession> {
    const known = live.get(id);
    if (known !== undefined) return known;
    const loading = load(id);
    live.set(id, loading);
    return loading;
  }

  async function create(request: CreateSession): Answer<SessionSummary> {
    const genesis = checkGenesis(
      defaultGenesis({
        session_id: request.session_id ?? newSessionId(),
        created_at_ms: ports.clock.now(),
        ...(request.config === undefined ? {} : { config: request.config }),
        ...(request.tool_package === undefined ? {} : { tool_package: request.tool_package }),
      }),
    );
    if (isLeft(genesis)) return genesis;
    const { session_id } = genesis.right;
    const created = await ports.journal.create(session_id, canonicalText(genesis.right))();
    if (isLeft(created)) return created;
    const state = initialState(genesis.right);
    const chain = genesisChain(genesis.right);
    live.set(
      session_id,
      Promise.resolve(right(new LiveSession({ genesis: genesis.right, state, chain }, sessionPorts))),
    );
    return right({ session_id, version: state.version, owing: false });
  }

  async function loadOwing(): Answer<readonly Rejection[]> {
    const all = await ports.journal.sessions()();
    if (isLeft(all)) return all;
    const faults: Rejection[] = [];
    for (const { session_id, owing } of all.right) {
      if (!owing) continue;
      const loaded = await get(session_id);
      if (isLeft(loaded)) faults.push(loaded.left);
    }
    return right(faults);
  }

  return { create, get, loadOwing };
}

/** A session id nobody has chosen: sortable by time, then random. */
export const makeSessionId = (nowMs: number, random: string): SessionId =>
  brand(`s-${nowMs.toString(36)}-${random.slice(0, 8)}`);
