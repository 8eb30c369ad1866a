// The host session of this process: its life cycle is the table below.
//
// A process that has not yet opened or closed a session adopts one on first use. The engine's state outlives the
// bridge: after a restart it still says `ready` and so sends calls, and refusing them would strand the run until a
// model thinks of opening a session it was told it has. The engine only sends calls when its state is ready, so
// adopting never runs a call that nobody opened a session for. An adopted session has no id here (state has it).
import { randomUUID } from 'node:crypto';
import { type HostSessionFacts, ToolFault } from './outcome.ts';

export type SessionStatus = 'unused' | 'ready' | 'closed' | 'expired';
export type SessionStep = 'open' | 'use' | 'close' | 'expire';

/** What each step makes of each status; null where the step is refused. */
export const SESSION_STEPS: Readonly<Record<SessionStatus, Readonly<Record<SessionStep, SessionStatus | null>>>> = {
  unused: { open: 'ready', use: 'ready', close: 'closed', expire: null },
  ready: { open: 'ready', use: 'ready', close: 'closed', expire: 'expired' },
  closed: { open: 'ready', use: null, close: null, expire: null },
  expired: { open: 'ready', use: null, close: null, expire: null },
};

export interface HostSession {
  status(): SessionStatus;
  /** Opens a new session, which replaces the one before. */
  open(ttlMs: number | undefined): HostSessionFacts;
  /** Throws unless the session is usable. Returns facts when this use adopted a session, else null. */
  use(): HostSessionFacts | null;
  close(): HostSessionFacts;
}

export function createSession(now: () => number, place: Pick<HostSessionFacts, 'sandbox' | 'workspace'>): HostSession {
  let status: SessionStatus = 'unused';
  let id: string | undefined;
  let expiresAtMs: number | undefined;

  const facts = (of: HostSessionFacts['host_session_status']): HostSessionFacts => ({
    host_session_status: of,
    ...(id === undefined ? {} : { host_session_id: id }),
  });
  const step = (name: SessionStep): void => {
    const next = SESSION_STEPS[status][name];
    if (next === null) throw refusalOf(status, facts);
    status = next;
  };

  return {
    status: () => status,
    open(ttlMs) {
      step('open');
      id = randomUUID();
      expiresAtMs = ttlMs === undefined ? undefined : now() + ttlMs;
      return { ...facts('ready'), ...place, ...(expiresAtMs === undefined ? {} : { expires_at_ms: expiresAtMs }) };
    },
    use() {
      if (status === 'ready' && expiresAtMs !== undefined && now() >= expiresAtMs) step('expire');
      const adopts = status === 'unused';
      step('use');
      return adopts ? { ...facts('ready'), ...place } : null;
    },
    close() {
      step('close');
      return facts('closed');
    },
  };
}

function refusalOf(
  status: SessionStatus,
  facts: (of: HostSessionFacts['host_session_status']) => HostSessionFacts,
): ToolFault {
  const expired = status === 'expired';
  return new ToolFault(
    expired ? 'session_expired' : 'session_closed',
    `the host session ${expired ? 'has expired' : 'is closed'}; open a new one with host.session.open`,
    { hostSession: facts(expired ? 'expired' : 'closed') },
  );
}
