// How two plans of the same observed calls differ, call by call.
import { plannedOf } from '../../../reducers/batch-index.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { Json } from '../../../schemas/json.ts';
import type { CallRejectionCode, PlannedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';

/** The decision of a plan on one call. The tool's definition is not part of it: that is a change of the offer. */
export type CallDecision =
  | { readonly accepted: false; readonly code: CallRejectionCode }
  | ({
      readonly accepted: true;
      readonly group: number;
      readonly after: readonly CallId[];
      /** A person is asked before it runs. */
      readonly asks: boolean;
    } & Omit<PlannedToolCall, 'call_id' | 'tool_name' | 'tool_ref' | 'arguments_digest' | 'consent'>);

export interface CallChange {
  readonly call_id: CallId;
  /** Its place among the observed calls. */
  readonly index: number;
  readonly tool_name: string;
  /**
   * `rejection`: the call is accepted in one plan only, or rejected for different reasons. `approval`: a person is asked
   * in one plan only. `plan`: other fields of the plan differ.
   */
  readonly kind: 'rejection' | 'approval' | 'plan';
  readonly recorded: CallDecision;
  readonly alternative: CallDecision;
  /** The fields of the two decisions that differ; empty for a rejection. */
  readonly fields: readonly string[];
}

/** The calls that two plans decide differently, in observed order. */
export function compareCalls(
  calls: readonly ToolCallObserved[],
  recorded: ToolBatchPlan,
  other: ToolBatchPlan,
): readonly CallChange[] {
  if (recorded.plan_hash === other.plan_hash) return [];
  const [was, is] = [decisionsOf(recorded), decisionsOf(other)];
  return calls.flatMap(({ call_id, tool_name }, index) => {
    const [a, b] = [was(call_id, index), is(call_id, index)];
    const change = a === null || b === null ? null : compareDecisions(a, b);
    return change === null ? [] : [{ call_id, index, tool_name, ...change }];
  });
}

function decisionsOf(plan: ToolBatchPlan): (id: CallId, index: number) => CallDecision | null {
  const rejected = new Map(plan.rejected.map(({ index, code }) => [index, code]));
  return (id, index) => {
    const code = rejected.get(index);
    if (code !== undefined) return { accepted: false, code };
    const found = plannedOf(plan, id);
    if (found === undefined) return null;
    const { call_id: _id, tool_name: _name, tool_ref: _ref, arguments_digest: _digest, consent, ...call } = found.call;
    return {
      accepted: true,
      group: found.group,
      after: plan.execution_plan.after[id] ?? [],
      asks: consent?.ask === 'person',
      ...call,
    };
  };
}

function compareDecisions(
  recorded: CallDecision,
  alternative: CallDecision,
): Pick<CallChange, 'kind' | 'recorded' | 'alternative' | 'fields'> | null {
  if (canonicalText(recorded) === canonicalText(alternative)) return null;
  if (!recorded.accepted || !alternative.accepted) return { kind: 'rejection', recorded, alternative, fields: [] };
  const [a, b] = [recorded, alternative] as readonly [Fields, Fields];
  const fields = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
    (name) => canonicalText(a[name] ?? null) !== canonicalText(b[name] ?? null),
  );
  return { kind: recorded.asks === alternative.asks ? 'plan' : 'approval', recorded, alternative, fields };
}

type Fields = Readonly<Record<string, Json>>;
