// The host sessions of this process, one for each session of the engine. Their life cycle is the table below.
//
// A process that has neither opened nor closed a session adopts one on the first call. The engine's state outlives the
// bridge: after a bridge restarts, state is still `ready` and the engine still sends calls. If the new process refused
// them, the run would stall until the model reopened a session that was reported to it as open. The engine sends calls only
// while its state is ready, so an adopted session is always one that was opened. It has no id here: the id is in state.
import { randomUUID } from 'node:crypto';
import { brand } from '../../schemas/ids.ts';
import { HOST_SESSIONS_MAX } from '../../schemas/limits.ts';
import type { HostPlace, HostSessionFacts, HostSessionStatus } from '../../schemas/tool-set.ts';
import { ToolFault } from './outcome.ts';

export type HostSessionPhase = 'unused' | 'ready' | 'closed' | 'expired';
export type HostSessionStep = 'open' | 'use' | 'close' | 'expire';

/** The phase after each step, for each phase; null where the step is refused. */
export const HOST_SESSION_STEPS: Readonly<
  Record<HostSessionPhase, Readonly<Record<HostSessionStep, HostSessionPhase | null>>>
> = {
  unused: { open: 'ready', use: 'ready', close: 'closed', expire: null },
  ready: { open: 'ready', use: 'ready', close: 'closed', expire: 'expired' },
  closed: { open: 'ready', use: null, close: null, expire: null },
  expired: { open: 'ready', use: null, close: null, expire: null },
};

export interface HostSession {
  phase(): HostSessionPhase;
  /** Opens a new session, which replaces the previous one. */
  open(ttlMs: number | undefined): HostSessionFacts;
  /** Throws unless the session is usable. Returns facts when this use adopted a session, else null. */
  use(): HostSessionFacts | null;
  close(): HostSessionFacts;
}

export interface HostSessions {
  /** The host session of a session of the engine. */
  of(sessionId: string): HostSession;
}

/** One that is forgotten is adopted again on its next call, as after a restart. */
export function createHostSessions(now: () => number, place: HostPlace): HostSessions {
  /** The least recently used comes first. */
  const sessions = new Map<string, HostSession>();
  return {
    of(sessionId) {
      const session = sessions.get(sessionId) ?? createHostSession(now, place);
      sessions.delete(sessionId);
      sessions.set(sessionId, session);
      const [oldest] = sessions.keys();
      if (sessions.size > HOST_SESSIONS_MAX && oldest !== undefined) sessions.delete(oldest);
      return session;
    },
  };
}

export function createHostSession(now: () => number, place: HostPlace): HostSession {
  let phase: HostSessionPhase = 'unused';
  let id: HostSessionFacts['host_session_id'];
  let expiresAtMs: number | undefined;

  const facts = (status: HostSessionStatus): HostSessionFacts => ({
    host_session_status: status,
    ...(id === undefined ? {} : { host_session_id: id }),
  });
  const advance = (step: HostSessionStep): void => {
    const next = HOST_SESSION_STEPS[phase][step];
    if (next === null) throw refusalOf(phase, facts);
    phase = next;
  };

  return {
    phase: () => phase,
    open(ttlMs) {
      advance('open');
      id = brand<'HostSessionId'>(randomUUID());
      expiresAtMs = ttlMs === undefined ? undefined : now() + ttlMs;
      return { ...facts('ready'), ...place, ...(expiresAtMs === undefined ? {} : { expires_at_ms: expiresAtMs }) };
    },
    use() {
      if (phase === 'ready' && expiresAtMs !== undefined && now() >= expiresAtMs) advance('expire');
      const adopts = phase === 'unused';
      advance('use');
      return adopts ? { ...facts('ready'), ...place } : null;
    },
    close() {
      advance('close');
      return facts('closed');
    },
  };
}

function refusalOf(phase: HostSessionPhase, facts: (status: HostSessionStatus) => HostSessionFacts): ToolFault {
  const expired = phase === 'expired';
  return new ToolFault(
    expired ? 'session_expired' : 'session_closed',
    `the host session ${expired ? 'has expired' : 'is closed'}; open a new one with host.session.open`,
    { hostSession: facts(expired ? 'expired' : 'closed') },
  );
}
