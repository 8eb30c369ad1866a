// Decides whether one observed call may be planned (docs/design.md, "The planner"). Each refusal has a code and a text of
// the rules, which tells the model what to do instead.
import type { CallRejectionCode } from '../schemas/plan.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { EffectiveToolSet, ToolVerdict } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { type RuleSet, codedText, ruleText } from './rules/rule-set.ts';
import { isWorkflow } from './workflows.ts';

export interface Refusal {
  readonly code: CallRejectionCode;
  readonly message: string;
}

export type Judgement = { readonly tool: ToolSpec } | { readonly refusal: Refusal };

/** A judge for one effective set and, when given, the set the model was offered. */
export function newCallJudge(
  rules: RuleSet,
  tools: EffectiveToolSet,
  offer: EffectiveToolSet | null,
): (call: ToolCallObserved) => Judgement {
  const effective = new Map(tools.ordered_tools.map((tool) => [tool.tool_name as string, tool]));
  const verdicts = new Map(tools.verdicts.map((verdict) => [verdict.tool_name as string, verdict]));
  const offered = offer === null ? null : offeredIn(offer);
  const names = tools.ordered_tools.map((tool) => tool.tool_name).join(', ');

  return (call) => {
    const tool = effective.get(call.tool_name);
    const refusal =
      tool === undefined
        ? refuseAbsent(rules, call.tool_name, verdicts.get(call.tool_name), names)
        : (refuseUnoffered(rules, tool, offered) ?? refuseArguments(rules, call) ?? refuseExecutor(rules, tool));
    return refusal === null ? { tool: tool as ToolSpec } : { refusal };
  };
}

function refuseAbsent(rules: RuleSet, called: string, verdict: ToolVerdict | undefined, names: string): Refusal {
  const [name, tools] = [clip(called), clip(names)];
  if (verdict === undefined) return codedText(rules, 'tool_unknown', { name, tools });
  const disabled = verdict.reasons.some((reason) => reason.startsWith('disabled_by_'));
  if (disabled) return codedText(rules, 'tool_disabled', { name });
  if (verdict.reasons.includes('not_in_profile')) return codedText(rules, 'tool_not_offered', { name, tools });
  const reasons = verdict.reasons.filter((reason) => OBSTACLES.test(reason)).join(', ');
  return codedText(rules, 'tool_unavailable', { name, reasons });
}

/** The reasons that a tool of the session is not available. */
const OBSTACLES = /ready|missing|not_approved|definition_changed|all_offered/;

function refuseUnoffered(
  rules: RuleSet,
  { tool_name: name, tool_ref }: ToolSpec,
  offered: Offered | null,
): Refusal | null {
  if (offered === null || offered.tools.get(name)?.tool_ref === tool_ref) return null;
  return codedText(rules, offered.beyond.has(name) ? 'tool_not_offered.beyond' : 'tool_not_offered.changed', { name });
}

/** What the model was offered, by name, and what was effective then and left out. */
interface Offered {
  readonly tools: ReadonlyMap<string, ToolSpec>;
  readonly beyond: ReadonlySet<string>;
}

const offeredIn = ({ ordered_tools, verdicts }: EffectiveToolSet): Offered => ({
  tools: new Map(ordered_tools.map((tool) => [tool.tool_name, tool])),
  beyond: new Set(verdicts.flatMap(({ reasons, tool_name }) => (reasons.includes('beyond_offer') ? [tool_name] : []))),
});

function refuseArguments(rules: RuleSet, call: ToolCallObserved): Refusal | null {
  const verdict = call.arguments_verdict;
  if (verdict?.valid === false) {
    const fault = clip(verdict.message ?? ruleText(rules, 'schema_misfit', {}));
    const path = clip(verdict.path ?? '');
    return path === ''
      ? codedText(rules, 'tool_invalid_args', { fault })
      : codedText(rules, 'tool_invalid_args.at', { path, fault });
  }
  if (call.arguments === undefined && call.arguments_text !== undefined) {
    return codedText(rules, 'tool_invalid_args.not_object', {});
  }
  return null;
}

function refuseExecutor(rules: RuleSet, { executor }: ToolSpec): Refusal | null {
  if (executor.kind !== 'workflow' || isWorkflow(rules, executor.workflow)) return null;
  return codedText(rules, 'executor_unsupported', { workflow: executor.workflow });
}

const clip = (text: string): string => (text.length <= 900 ? text : `${text.slice(0, 900).toWellFormed()}…`);
