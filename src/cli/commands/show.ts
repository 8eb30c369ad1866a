// `refold show`: the state of a session, its tools with reasons, the open plan, and the effects it waits for.
import { paint } from '../../shown/paint.ts';
import type { SessionId } from '../../../schemas/ids.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { SessionState } from '../../../schemas/state.ts';
import type { SessionView } from '../../../schemas/wire.ts';
import { effects } from '../../core/effects.ts';
import { explain } from '../../core/explain-tools.ts';
import { toolOrigin } from '../../core/compare/toolset-history.ts';
import { withEngine } from '../with-engine.ts';
import { must } from '../../client/must.ts';
import { describeUsage } from '../../shown/describe.ts';
import type { Output } from '../output.ts';
import { countStatuses, describeCall } from '../progress.ts';

export async function showCommand(dataDir: string, id: SessionId, output: Output): Promise<number> {
  const view = await withEngine(dataDir, (client) => must(client.session(id)));
  output.object({ ...view, effects: effects(view.state), tools: explain(view.state) });
  for (const line of describeSession(view)) output.line(line);
  return 0;
}

function describeSession({ state, state_digest, chain, status }: SessionView): readonly string[] {
  return [
    `${paint.bold(state.session_id)}  ${state.version} events  ${status === 'requires_action' ? paint.yellow(status) : status}`,
    `state    ${state_digest}`,
    `chain    ${chain}`,
    `rules    ${state.rules}`,
    ...runLines(state),
    ...toolLines(state),
    ...batchLines(state),
    ...owedLines(state),
  ];
}

function runLines({ run, run_history, tool_runtime_context: context }: SessionState): readonly string[] {
  const host = `host     ${context.host_session_status ?? 'no session'}${context.sandbox === null ? '' : `, sandbox ${context.sandbox}`}`;
  const past = run_history.map(
    ({ run_id, ending, turn, calls, usage }) =>
      `${run_id}    ${ending.outcome}${ending.code === null ? '' : ` (${ending.code})`}, ${turn} turns, ${calls} calls${tokens(usage)}`,
  );
  return [
    host,
    ...past,
    ...(run === null
      ? []
      : [`${run.run_id}    ${paint.cyan(run.phase)}, turn ${run.turn}, ${run.calls} calls${tokens(run.usage)}`]),
  ];
}

/** Empty when the provider counts none. */
const tokens = (usage: Usage): string =>
  usage.input_tokens + usage.output_tokens === 0 ? '' : `, ${describeUsage(usage)}`;

function toolLines(state: SessionState): readonly string[] {
  const rows = explain(state).map(({ tool_id, tool_name, effective, reasons }) => {
    const mark = effective ? paint.green('in ') : paint.dim('out');
    const origin = toolOrigin(state, tool_id);
    const from = origin === null ? '' : `; of ${origin.toolset}, set by ${origin.owner}`;
    return `  ${mark}  ${tool_name.padEnd(16)} ${paint.dim(reasons.join(', ') + from)}`;
  });
  return [`tools    profile ${state.effective_tools.profile_id}`, ...rows];
}

function batchLines({ active_tool_batch: batch, last_tool_plan_hash }: SessionState): readonly string[] {
  if (batch === null)
    return last_tool_plan_hash === null ? [] : [`plan     none open; the last was ${last_tool_plan_hash}`];
  const counts = Object.entries(countStatuses(batch)).map(([status, count]) => `${count} ${status}`);
  const calls = new Map(batch.observed.map((call) => [call.call_id, call]));
  const groups = batch.plan.execution_plan.groups.map(
    (ids, group) => `  group ${group + 1}: ${ids.map((id) => describeCall(calls.get(id))).join(', ')}`,
  );
  return [`plan     ${batch.batch_id}: ${counts.join(', ')}  ${paint.dim(batch.plan.plan_hash)}`, ...groups];
}

function owedLines(state: SessionState): readonly string[] {
  const owed = effects(state).map((effect) => `  ${effect.kind}  ${paint.dim(effect.effect_id)}`);
  return owed.length === 0 ? ['owed     nothing'] : ['owed', ...owed];
}
