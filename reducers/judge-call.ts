// Decides whether one observed call may be planned (docs/design.md, "The planner"). Each refusal has a code and a
// message that tells the model what to do instead. The messages are recorded and must not change.
import type { CallRejectionCode } from '../schemas/plan.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { EffectiveToolSet, ToolVerdict } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { isWorkflow } from './workflows.ts';

export interface Refusal {
  readonly code: CallRejectionCode;
  readonly message: string;
}

export type Judgement = { readonly tool: ToolSpec } | { readonly refusal: Refusal };

/** A judge for one effective set and, when given, the set the model was offered. */
export function newCallJudge(
  tools: EffectiveToolSet,
  offer: EffectiveToolSet | null,
): (call: ToolCallObserved) => Judgement {
  const effective = new Map(tools.ordered_tools.map((tool) => [tool.tool_name as string, tool]));
  const verdicts = new Map(tools.verdicts.map((verdict) => [verdict.tool_name as string, verdict]));
  const offered = offer === null ? null : new Map(offer.ordered_tools.map((tool) => [tool.tool_name as string, tool]));
  const names = tools.ordered_tools.map((tool) => tool.tool_name).join(', ');

  return (call) => {
    const tool = effective.get(call.tool_name);
    const refusal =
      tool === undefined
        ? refuseAbsent(call.tool_name, verdicts.get(call.tool_name), names)
        : (refuseUnoffered(tool, offered) ?? refuseArguments(call) ?? refuseExecutor(tool));
    return refusal === null ? { tool: tool as ToolSpec } : { refusal };
  };
}

function refuseAbsent(name: string, verdict: ToolVerdict | undefined, names: string): Refusal {
  if (verdict === undefined) {
    return { code: 'tool_unknown', message: `There is no tool "${clip(name)}". Available tools: ${clip(names)}.` };
  }
  const disabled = verdict.reasons.some((reason) => reason.startsWith('disabled_by_'));
  if (disabled) return { code: 'tool_disabled', message: `The tool "${name}" is disabled in this session.` };
  if (verdict.reasons.includes('not_in_profile')) {
    return {
      code: 'tool_not_offered',
      message: `The tool "${name}" is not offered here. Available tools: ${clip(names)}.`,
    };
  }
  const why = verdict.reasons.filter((reason) => /not_ready|ready|missing/.test(reason)).join(', ');
  return { code: 'tool_unavailable', message: `The tool "${name}" is not available now (${why}).` };
}

function refuseUnoffered(tool: ToolSpec, offered: ReadonlyMap<string, ToolSpec> | null): Refusal | null {
  if (offered === null || offered.get(tool.tool_name)?.tool_ref === tool.tool_ref) return null;
  return {
    code: 'tool_not_offered',
    message: `The tool "${tool.tool_name}" was not offered, as it is now, when this call was made. Call it again.`,
  };
}

function refuseArguments(call: ToolCallObserved): Refusal | null {
  const verdict = call.arguments_verdict;
  if (verdict?.valid === false) {
    const path = verdict.path === undefined || verdict.path === '' ? '' : ` at ${clip(verdict.path)}`;
    const message = `Invalid arguments${path}: ${clip(verdict.message ?? 'they do not fit')}.`;
    return { code: 'tool_invalid_args', message };
  }
  if (call.arguments === undefined && call.arguments_text !== undefined) {
    return { code: 'tool_invalid_args', message: 'Invalid arguments: they are not a JSON object.' };
  }
  return null;
}

function refuseExecutor(tool: ToolSpec): Refusal | null {
  if (tool.executor.kind !== 'workflow' || isWorkflow(tool.executor.workflow)) return null;
  return { code: 'executor_unsupported', message: `No workflow named "${tool.executor.workflow}" is built in.` };
}

const clip = (text: string): string => (text.length <= 900 ? text : `${text.slice(0, 900).toWellFormed()}…`);
