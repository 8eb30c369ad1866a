// Facts about the host that decide which tools are available (AOS P7, "Host Session Gating Semantics").
import { produce } from 'immer';
import type { SessionState } from '../schemas/state.ts';
import type { HostSessionFacts } from '../schemas/tool-set.ts';
import type { NextState } from './next-state.ts';

/**
 * Writes the given facts; the others stay. A host session that is not ready has no expiry time. Grants were given for one
 * workspace and one way to confine commands: they end with it.
 */
export function applyHostSession(next: NextState, facts: HostSessionFacts): void {
  const { workspace, sandbox } = next.tool_runtime_context;
  next.tool_runtime_context = produce(next.tool_runtime_context, (context) => {
    if (facts.host_session_id !== undefined) context.host_session_id = facts.host_session_id;
    if (facts.host_session_status !== undefined) {
      context.host_session_status = facts.host_session_status;
      context.host_session_expires_at_ms = null;
    }
    if (facts.expires_at_ms !== undefined && context.host_session_status === 'ready') {
      context.host_session_expires_at_ms = facts.expires_at_ms;
    }
    if (facts.sandbox !== undefined) context.sandbox = facts.sandbox;
    if (facts.workspace !== undefined) context.workspace = facts.workspace;
    if (facts.capabilities !== undefined) context.capabilities = [...new Set(facts.capabilities)].sort();
  });
  const { workspace: nowIn, sandbox: nowUnder } = next.tool_runtime_context;
  const moved = (workspace !== null && workspace !== nowIn) || (sandbox !== null && sandbox !== nowUnder);
  if (moved && next.consent.grants.length > 0) next.consent = { ...next.consent, grants: [] };
}

/** When the host session expires; null when it is not ready or does not expire. */
export const hostSessionDeadline = (state: SessionState): number | null =>
  state.tool_runtime_context.host_session_status === 'ready'
    ? state.tool_runtime_context.host_session_expires_at_ms
    : null;
