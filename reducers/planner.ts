// The batch planner: observed calls in, the canonical plan out (AOS P7, "Batch Planning"; docs/design.md, "The planner").
import { canonicalText, digestJson } from '../schemas/canonical.ts';
import type { CallConsent, ConsentState } from '../schemas/consent.ts';
import type { CallId, Digest } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { PLAN_EDGES_MAX } from '../schemas/limits.ts';
import type { PlannedToolCall, RejectedToolCall, ToolBatchPlan } from '../schemas/plan.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { EffectiveToolSet } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { argumentsDigest, argumentsOf, argumentsValue } from '../schemas/tool-call.ts';
import { type ClaimRoom, claimsOf, claimsWithin, newClaimRoom } from './claims.ts';
import { newConflictOrder } from './conflict-order.ts';
import { type GrantWork, decideConsent, newGrantWork } from './consent.ts';
import { type Refusal, newCallJudge } from './judge-call.ts';
import { inOrder } from './next-state.ts';
import { newestRules } from './rules/known-rules.ts';
import { type RuleSet, codedText } from './rules/rule-set.ts';

export interface PlanContext {
  /** The rules of the session; the newest without them. */
  readonly rules?: RuleSet;
  /** The set the model was offered; without it, calls are judged by the effective set alone. */
  readonly offer?: EffectiveToolSet | null;
  /** Calls that the loop guard refused, by index. */
  readonly refused?: ReadonlyMap<number, Refusal>;
  /** The session's policy and grants; without it, no call asks a person. */
  readonly consent?: ConsentState;
  /** Identical read-only calls run once. */
  readonly shareReads?: boolean;
  /** From this index on, a person approved the calls with changed arguments; without it, none. */
  readonly amendedFrom?: number;
}

/**
 * Plans one batch. Every call is either planned or rejected, in observed order. `groups[l]` holds the calls of level
 * l = 1 + the highest level of the earlier calls they conflict with; `after` the minimal set of calls each waits for.
 * Two calls conflict when either is not parallel-safe, or when two claims overlap and one is a write (conflict.ts).
 */
export function planBatch(
  tools: EffectiveToolSet,
  calls: readonly ToolCallObserved[],
  context: PlanContext = {},
): ToolBatchPlan {
  const rules = context.rules ?? newestRules();
  const { amendedFrom = Infinity } = context;
  const judge = newCallJudge(rules, tools, context.offer ?? null);
  const planned: PlannedToolCall[] = [];
  const rejected: RejectedToolCall[] = [];
  const seen = new Set<CallId>();
  const schedule = newSchedule();
  const sharing = newSharing();
  const work = newGrantWork();
  const room = newClaimRoom();

  for (const [index, call] of calls.entries()) {
    const refuse = ({ code, message }: Refusal): void => {
      rejected.push({ call_id: call.call_id, code, index, message, tool_name: call.tool_name });
    };
    if (seen.has(call.call_id)) {
      refuse(codedText(rules, 'duplicate_call_id', { id: call.call_id }));
      continue;
    }
    seen.add(call.call_id);
    const guarded = context.refused?.get(index);
    const judged = guarded === undefined ? judge(call) : { refusal: guarded };
    if ('refusal' in judged) {
      refuse(judged.refusal);
      continue;
    }
    const tool = routed(judged.tool);
    const consent = consentTo(call, tool, { consent: context.consent, amended: index >= amendedFrom, rules, work });
    if (consent !== null && 'code' in consent) {
      refuse(consent);
      continue;
    }
    const plan = planCall(call, tool, { consent, room });
    const taken = schedule.add(plan);
    if (taken !== null) planned.push(context.shareReads === true ? sharing.share(plan, tool, taken) : plan);
    else refuse(codedText(rules, 'batch_too_entangled', {}));
  }
  return sealPlan({ planned_calls: planned, rejected, execution_plan: schedule.plan() });
}

const hashes = new WeakMap<Omit<ToolBatchPlan, 'plan_hash'>, Digest>();

/** The hash of a plan: the digest of all its fields but `plan_hash`. */
export function planHash(plan: Omit<ToolBatchPlan, 'plan_hash'>): Digest {
  const known = hashes.get(plan);
  if (known !== undefined) return known;
  const { planned_calls, rejected, execution_plan } = plan;
  const made = digestJson({ execution_plan, planned_calls, rejected });
  if (Object.isFrozen(plan)) hashes.set(plan, made);
  return made;
}

function sealPlan({ execution_plan, planned_calls, rejected }: Omit<ToolBatchPlan, 'plan_hash'>): ToolBatchPlan {
  const plan_hash = planHash({ execution_plan, planned_calls, rejected });
  // A frozen plan cannot change, so its hash can be cached.
  const plan = freezeJson({ execution_plan, plan_hash, planned_calls, rejected });
  hashes.set(plan, plan_hash);
  return plan;
}

// The fields are in canonical order, because hashing a plan is most of the work of making it.
function planCall(
  call: ToolCallObserved,
  tool: ToolSpec,
  { consent, room }: { readonly consent: CallConsent | null; readonly room: ClaimRoom },
): PlannedToolCall {
  const { parallelism_hint: hint } = tool;
  // Recorded claims are used only for arguments in a blob, which the fold cannot read.
  const given = argumentsOf(call);
  const own =
    'arguments_ref' in given
      ? (call.claims ?? claimsOf(hint, null))
      : claimsOf(hint, 'arguments' in given ? given.arguments : {});
  const claims = claimsWithin(room, hint, own);
  // Only an answer can be late: a call that a bridge runs ends by its report, within `timeout_ms`, or with its lease.
  const within = tool.executor.kind === 'custom' ? tool.answer_within_ms : undefined;
  const previews = tool.preview === true && tool.executor.kind !== 'custom' && tool.executor.kind !== 'workflow';
  return {
    ...(within === undefined ? {} : { answer_within_ms: within }),
    arguments_digest: argumentsDigest(call),
    call_id: call.call_id,
    claims,
    ...(consent === null ? {} : { consent }),
    executor: orderedExecutor(tool),
    interrupt_behavior: tool.interrupt_behavior,
    output_bytes_max: tool.output_bytes_max,
    parallel_safe: hint.parallel_safe,
    ...(previews ? { preview: true } : {}),
    read_only: tool.read_only,
    repeatable: tool.read_only || tool.idempotent,
    timeout_ms: tool.timeout_ms,
    tool_id: tool.tool_id,
    tool_name: tool.tool_name,
    tool_ref: tool.tool_ref,
  };
}

/** The consent entry of a planned call: null when no rule asks, a refusal when the policy denies the call. */
export function consentTo(
  call: ToolCallObserved,
  tool: ToolSpec,
  {
    consent,
    amended,
    rules,
    work,
  }: {
    readonly consent: ConsentState | undefined;
    /** A person approved this call with changed arguments. */
    readonly amended: boolean;
    readonly rules: RuleSet;
    readonly work: GrantWork;
  },
): CallConsent | Refusal | null {
  if (consent === undefined) return null;
  const { decision, reasons } = decideConsent(consent, tool, argumentsValue(call), work);
  if (decision === 'deny') {
    return codedText(rules, 'permission_denied.policy', { name: tool.tool_name, reasons: reasons.join(', ') });
  }
  if (reasons.length === 0) return null;
  const { mode } = tool;
  if (decision === 'allow') return { ask: 'none', mode, reasons };
  return amended
    ? { ask: 'none', mode, reasons: [...reasons, 'approved_with_changes'] }
    : { ask: 'person', mode, reasons };
}

/** Whether a call of this tool would be planned as it was: by the same tool, with the same definition, run by the same party. */
export function isPlannedTool(planned: PlannedToolCall, given: ToolSpec): boolean {
  const tool = routed(given);
  return (
    planned.tool_id === tool.tool_id &&
    planned.tool_ref === tool.tool_ref &&
    planned.read_only === tool.read_only &&
    canonicalText(planned.executor) === canonicalText(orderedExecutor(tool))
  );
}

interface Sharing {
  share(plan: PlannedToolCall, tool: ToolSpec, after: readonly CallId[]): PlannedToolCall;
}

// A read-only call shares its result with an identical one that waits for the same calls, because nothing can change
// between the two. Calls to an open world may return something else each time and are not shared.
function newSharing(): Sharing {
  const first = new Map<string, CallId>();
  return {
    share(plan, tool, after) {
      const { read_only, open_world, executor } = tool;
      if (!read_only || open_world || plan.consent?.ask === 'person' || executor.kind === 'workflow') return plan;
      const key = [plan.tool_id, plan.arguments_digest, ...after].join('\n');
      const earlier = first.get(key);
      if (earlier === undefined) first.set(key, plan.call_id);
      return earlier === undefined ? plan : inOrder({ ...plan, shares: earlier });
    },
  };
}

const customs = new WeakMap<ToolSpec, ToolSpec>();

/** Whether a person fulfils the calls of a tool. */
export const isFulfilled = ({ ownership, executor }: ToolSpec): boolean =>
  ownership === 'custom' || executor.kind === 'custom';

/** A person fulfils the calls of a custom tool, even when its author named another executor (openboa, "Ownership"). */
function routed(tool: ToolSpec): ToolSpec {
  if (!isFulfilled(tool) || tool.executor.kind === 'custom') return tool;
  const known = customs.get(tool) ?? { ...tool, executor: { kind: 'custom' } };
  customs.set(tool, known);
  return known;
}

const executors = new WeakMap<ToolSpec, ToolSpec['executor']>();

/** The executor with its fields in canonical order; out of order it would slow down the encoding of the whole plan. */
function orderedExecutor(tool: ToolSpec): ToolSpec['executor'] {
  const known = executors.get(tool);
  if (known !== undefined) return known;
  const fields = Object.entries(tool.executor).sort(([a], [b]) => (a < b ? -1 : 1));
  const ordered = Object.fromEntries(fields) as unknown as ToolSpec['executor'];
  executors.set(tool, ordered);
  return ordered;
}

interface Schedule {
  /** The calls to wait for; null when the plan has no room for the edges, after which it takes no further call. */
  add(call: PlannedToolCall): readonly CallId[] | null;
  plan(): ToolBatchPlan['execution_plan'];
}

function newSchedule(): Schedule {
  const order = newConflictOrder();
  const ids: CallId[] = [];
  const levels: number[] = [];
  const groups: CallId[][] = [];
  const waitsOf = new Map<CallId, CallId[]>();
  let edges = 0;
  let full = false;
  return {
    add(call) {
      if (full) return null;
      const waits = order.add(call.parallel_safe, call.claims);
      edges += waits.length;
      full = edges > PLAN_EDGES_MAX;
      if (full) return null;
      const level = waits.reduce((highest, earlier) => Math.max(highest, (levels[earlier] as number) + 1), 0);
      ids.push(call.call_id);
      levels.push(level);
      (groups[level] ??= []).push(call.call_id);
      const after = waits.map((earlier) => ids[earlier] as CallId);
      waitsOf.set(call.call_id, after);
      return after;
    },
    plan: () => ({ after: Object.fromEntries([...waitsOf].sort(byKey)), groups }),
  };
}

const byKey = ([a]: readonly [CallId, unknown], [b]: readonly [CallId, unknown]): number => (a < b ? -1 : 1);
