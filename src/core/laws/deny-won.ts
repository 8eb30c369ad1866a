// Deny won: what a person, the policy or an override denied did not run (docs/design.md, law 6).
import type { PlannedToolCall } from '../../../schemas/plan.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { ToolId } from '../../../schemas/ids.ts';
import type { ToolSpec } from '../../../schemas/tool-spec.ts';
import { toolsetNamedBy } from '../../../schemas/toolset.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import { DENIALS } from './plan-kept.ts';
import type { CallReading, Reading } from './reading.ts';
import { isWork } from './results.ts';

export function checkDenyWon(judged: LawCase): readonly LawBreach[] {
  return [...checkWork(judged), ...checkPlanned(judged)];
}

/** A denied call neither begins nor returns anything. */
function checkWork(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call } = judged;
  if (batch === null || call === null || !isWork(folded.event)) return [];
  const does = folded.event.kind === 'ToolCallStarted' ? 'begins' : 'has an outcome';
  const { rejected, result, call_id } = call;
  if (rejected !== null && DENIALS.has(rejected.code)) {
    const message = `"${call_id}" was denied by the plan (${rejected.code}), but ${does}`;
    return [breachOf('deny_won', judged, { against: batch.openedAt, message })];
  }
  if (result?.status === 'denied' || (result?.status === 'rejected' && rejected === null)) {
    const message = `"${call_id}" was ${result.status}, but ${does}`;
    return [breachOf('deny_won', judged, { against: result.position, message })];
  }
  return checkStart(judged, call, does);
}

/** A call begins only while its tool is as it was planned, and is allowed. What it returns may come later. */
function checkStart(judged: LawCase, call: CallReading, does: string): readonly LawBreach[] {
  const { folded, reading } = judged;
  const { planned, result, running, call_id } = call;
  if (planned === null || result !== null || (running && folded.event.kind !== 'ToolCallStarted')) return [];
  const denial = findDenial(planned, folded.before, reading);
  if (denial === null) return [];
  const message = `"${call_id}" ${does}, but its tool "${planned.tool_id}" ${denial.why}`;
  return [breachOf('deny_won', judged, { against: denial.since, message })];
}

/** A batch that opens plans no call of a tool that is denied, disabled or gone. */
function checkPlanned(judged: LawCase): readonly LawBreach[] {
  const { folded, reading } = judged;
  const opened = folded.after.active_tool_batch;
  if (opened === null || opened.batch_id === reading.open?.batch_id) return [];
  return opened.plan.planned_calls.flatMap((call) => {
    const denial = findDenial(call, folded.before, reading);
    if (denial === null) return [];
    const message = `"${call.call_id}" is planned, but its tool "${call.tool_id}" ${denial.why}`;
    return [breachOf('deny_won', judged, { against: denial.since, call, message })];
  });
}

/** Every availability rule of the tool holds. */
const isAvailable = ({ availability_rules }: ToolSpec, { tool_runtime_context: host }: SessionState): boolean =>
  availability_rules.every((rule) => {
    if (rule === 'host_session_ready') return host.host_session_status === 'ready';
    if (rule === 'host_session_not_ready') return host.host_session_status !== 'ready';
    return !rule.startsWith('capability:') || host.capabilities.includes(rule.slice('capability:'.length));
  });

/** A toolset has the tool, with another definition than the one that was approved. */
function isUnapproved(id: ToolId, { toolsets = {} }: SessionState): boolean {
  const toolset = toolsets[toolsetNamedBy(id) ?? ''];
  return toolset !== undefined && Object.hasOwn(toolset.tools, id) && toolset.tools[id] !== toolset.pins[id];
}

interface Denial {
  readonly since: number;
  readonly why: string;
}

function findDenial(call: PlannedToolCall, state: SessionState, { since }: Reading): Denial | null {
  const { session, run } = state.tool_overrides;
  const tool = state.tool_registry[call.tool_id];
  if (tool === undefined) return { since: since.registry, why: 'is not registered' };
  if (tool.tool_ref !== call.tool_ref) return { since: since.registry, why: 'has another definition' };
  if (isUnapproved(call.tool_id, state)) return { since: since.registry, why: 'is not approved as it is' };
  if (!isAvailable(tool, state)) return { since: since.host, why: 'is not available' };
  if (session.disable.includes(call.tool_id)) return { since: since.session, why: 'is disabled in the session' };
  if (run.disable.includes(call.tool_id)) return { since: since.run, why: 'is disabled in the run' };
  if (state.consent === undefined) return null;
  const { modes, tools } = state.consent.policy;
  // A destructive tool counts as such where its mode does not say so, except for commands and what a person does.
  const covered = tool.mode === 'destructive' || tool.mode === 'local' || call.executor.kind === 'custom';
  const denied =
    tools[call.tool_id] === 'deny' ||
    modes[tool.mode] === 'deny' ||
    (tool.destructive && !covered && modes.destructive === 'deny');
  return denied ? { since: since.policy, why: 'is denied by the policy' } : null;
}
