// Facts about the host that decide which tools are available (AOS P7, "Host Session Gating Semantics").
import { produce } from 'immer';
import type { SessionState } from '../schemas/state.ts';
import type { HostPlace, HostSessionFacts, ToolRuntimeContext } from '../schemas/tool-set.ts';
import { type NextState, inOrder, liveRun } from './next-state.ts';

/**
 * Writes the given facts; the others stay. A host session that is not ready has no expiry time. Grants were given for one
 * workspace and one way to confine commands: they end with it, and so do approvals of changed calls that are not made yet.
 */
export function applyHostSession(next: NextState, facts: HostSessionFacts): void {
  const before = next.tool_runtime_context;
  const facted = produce(before, (context) => {
    if (facts.host_session_id !== undefined) context.host_session_id = facts.host_session_id;
    if (facts.host_session_status !== undefined) {
      context.host_session_status = facts.host_session_status;
      context.host_session_expires_at_ms = null;
    }
    if (facts.expires_at_ms !== undefined && context.host_session_status === 'ready') {
      context.host_session_expires_at_ms = facts.expires_at_ms;
    }
    if (facts.sandbox !== undefined) {
      context.sandbox = facts.sandbox;
      if (facts.commands_share_user === true) context.commands_share_user = true;
      else delete context.commands_share_user;
    }
    if (facts.workspace !== undefined) {
      // At the same path, a bridge that knows no name does not make the known one forgotten: another name is another place.
      if (facts.workspace_name === undefined && facts.workspace !== context.workspace) delete context.workspace_name;
      context.workspace = facts.workspace;
    }
    if (facts.workspace_name !== undefined) context.workspace_name = facts.workspace_name;
    if (facts.capabilities !== undefined) context.capabilities = [...new Set(facts.capabilities)].sort();
  });
  next.tool_runtime_context = facted === before ? before : inOrder(facted);
  if (!hasMoved(before, facted)) return;
  if (next.consent.grants.length > 0) next.consent = { ...next.consent, grants: [] };
  const approved = next.run?.amended?.length ?? 0;
  if (approved > 0) next.run = inOrder({ ...liveRun(next), amended_elsewhere: approved });
}

/** Whether a place is known to be another one than the session's. */
export function isElsewhere(known: ToolRuntimeContext, place: HostPlace): boolean {
  const { workspace_name: name, commands_share_user: shared = false } = known;
  if (name !== undefined && place.workspace_name !== undefined) {
    if (name !== place.workspace_name) return true;
  } else if (known.workspace !== null && place.workspace !== undefined && known.workspace !== place.workspace)
    return true;
  if (known.sandbox === null || place.sandbox === undefined) return false;
  return known.sandbox !== place.sandbox || shared !== (place.commands_share_user ?? false);
}

/** Whether the host runs calls in another place than it did before. */
export function hasMoved(before: ToolRuntimeContext, { workspace, sandbox, ...after }: ToolRuntimeContext): boolean {
  return isElsewhere(before, {
    ...(workspace === null ? {} : { workspace }),
    ...(sandbox === null ? {} : { sandbox }),
    ...(after.commands_share_user === undefined ? {} : { commands_share_user: after.commands_share_user }),
    ...(after.workspace_name === undefined ? {} : { workspace_name: after.workspace_name }),
  });
}

/** When the host session expires; null when it is not ready or does not expire. */
export const hostSessionDeadline = (state: SessionState): number | null =>
  state.tool_runtime_context.host_session_status === 'ready'
    ? state.tool_runtime_context.host_session_expires_at_ms
    : null;
