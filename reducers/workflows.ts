// Workflow tools: pure functions of state, settled inside the fold without a bridge and without side effects
// (docs/design.md, "Tools"). They tell the model about consent before it makes a call (openboa, "Permission policies"),
// and find the tools that it was not offered.
// Their answers are recorded as results: which workflows there are, and every text they answer, belong to the rules of the
// session. An answer stays inline (INLINE_CHARS_MAX).
import { canonicalText } from '../schemas/canonical.ts';
import type { Grant } from '../schemas/consent.ts';
import type { Json, JsonObject } from '../schemas/json.ts';
import { ALTERNATIVE_CHARS_MAX, DESCRIBED_CHARS_MAX, DESCRIBED_MAX } from '../schemas/limits.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { type ConsentDecision, decideConsent } from './consent.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type RuleSet, ruleText } from './rules/rule-set.ts';
import { type SearchWork, findTools } from './tool-search.ts';
import { readAlternative } from './shell/read.ts';

export interface WorkflowInput {
  /** The state before the batch of the call opened, so that batch is neither open nor counted in it. */
  readonly state: SessionState;
  readonly args: JsonObject;
  /** The plan of the batch the call belongs to. */
  readonly plan: ToolBatchPlan;
  readonly calls: readonly ToolCallObserved[];
  /** Shared by the calls of the batch. */
  readonly searches: SearchWork;
}

export const WORKFLOWS: Readonly<Record<string, (input: WorkflowInput) => JsonObject>> = {
  'permissions.check': checkPermission,
  'permissions.describe': describePermissions,
  'tools.find': ({ state, args, searches }) => findTools(state, args, searches),
};

/** Whether the rules have the workflow. A tool may name any; a call of one that they do not have is refused. */
export const isWorkflow = (rules: RuleSet, name: string): boolean => rules.workflows.includes(name);

/** The answer of the workflow, which must be one that {@link isWorkflow} knows. */
export const runWorkflow = (name: string, input: WorkflowInput): JsonObject => WORKFLOWS[name]?.(input) ?? {};

/** Whether a call of a tool with these arguments would ask a person, and which read-only call returns the same. */
function checkPermission({ state, args }: WorkflowInput): JsonObject {
  const name = typeof args['tool_name'] === 'string' ? args['tool_name'].slice(0, 256).toWellFormed() : '';
  const rules = rulesOf(state);
  const tool = state.effective_tools.ordered_tools.find((offered) => offered.tool_name === name);
  if (tool === undefined) {
    return {
      tool_name: name,
      decision: 'not_available',
      explanation: ruleText(rules, 'explanation.not_available', {}),
    };
  }
  const given = args['arguments'];
  const toolArgs = isObject(given) ? given : null;
  const { decision, reasons } = decisionOn(state, tool, toolArgs);
  return {
    tool_name: name,
    decision,
    mode: tool.mode,
    reasons: [...reasons],
    explanation: ruleText(rules, `explanation.${decision}`, {}),
    read_only_alternative: decision === 'allow' ? null : alternativeTo(state, tool, toolArgs),
  };
}

/** The policy, the tools whose calls would ask, and the calls that wait for a person. */
function describePermissions({ state, plan, calls }: WorkflowInput): JsonObject {
  const pending = plan.planned_calls.filter(
    ({ consent, executor }) => consent?.ask === 'person' || executor.kind === 'custom',
  );
  const asking = state.effective_tools.ordered_tools.flatMap((tool) => {
    const { decision, reasons } = decisionOn(state, tool, null);
    return decision === 'allow'
      ? []
      : [{ tool_name: tool.tool_name, mode: tool.mode, decision, reasons: [...reasons] }];
  });
  return {
    policy: { modes: { ...state.consent.policy.modes } },
    asking: clipped(asking),
    grants: clipped(state.consent.grants.map(shownGrant)),
    pending: clipped(
      pending.map(({ call_id, tool_name, executor }) => ({
        call_id,
        tool_name,
        waits_for: executor.kind === 'custom' ? 'result' : 'confirmation',
        position: calls.findIndex((call) => call.call_id === call_id),
      })),
    ),
  };
}

/** A grant without its digests, which say nothing to a model. */
const shownGrant = ({ tool_ref: _ref, others: _others, ...grant }: Grant): JsonObject => grant;

/** The items that fit a result, and how many are left out. */
function clipped(items: readonly Json[]): JsonObject {
  let chars = 0;
  const over = items.findIndex((item, index) => {
    chars += canonicalText(item).length + 1;
    return index >= DESCRIBED_MAX || chars > DESCRIBED_CHARS_MAX;
  });
  const count = over === -1 ? items.length : over;
  return { shown: items.slice(0, count), more: items.length - count };
}

const decisionOn = (state: SessionState, tool: ToolSpec, args: JsonObject | null): ConsentDecision =>
  decideConsent(state.consent, tool, args);

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A read-only call that returns the same as a shell command, when the model is offered the tool for it. */
function alternativeTo(state: SessionState, tool: ToolSpec, args: JsonObject | null): JsonObject | null {
  const rules = rulesOf(state);
  const { effect_kind, argumentList, folder: folderName } = rules.shellReads.commands;
  if (tool.executor.kind !== 'effect' || tool.executor.effect_kind !== effect_kind) return null;
  const { [argumentList]: argv, [folderName]: cwd } = args ?? {};
  if (!Array.isArray(argv) || !argv.every((word): word is string => typeof word === 'string')) return null;
  const folder = typeof cwd === 'string' ? cwd : '.';
  const found = readAlternative(rules, argv, folder, state.tool_runtime_context.workspace ?? undefined);
  const offered = state.effective_tools.ordered_tools.find((other) => other.tool_id === found?.tool_id);
  if (found === null || offered === undefined) return null;
  const alternative = { tool_name: offered.tool_name, arguments: found.arguments, why: found.why };
  return canonicalText(alternative).length <= ALTERNATIVE_CHARS_MAX ? alternative : null;
}
