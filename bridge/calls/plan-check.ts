// Only the plan runs (docs/design.md, law 10): before a call runs, its plan, the call and its exact arguments are checked
// against their digests.
import * as E from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import { planHash } from '../../src/core/index.ts';
import { digestJson } from '../../schemas/canonical.ts';
import type { CallConsent } from '../../schemas/consent.ts';
import { type Content, isInline } from '../../schemas/content.ts';
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { CallId, Digest } from '../../schemas/ids.ts';
import { type JsonObject, isPlainObject, parseJson } from '../../schemas/json.ts';
import { BODY_BYTES_MAX } from '../../schemas/limits.ts';
import type { PlannedToolCall, ToolBatchPlan } from '../../schemas/plan.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';

type ToolCall = EffectOfKind<'tool.call'>;
type PlanIndex = ReadonlyMap<CallId, PlannedToolCall>;

/** Reads a blob; left when the engine does not have it, or it is corrupt. */
export type ReadBlob = (ref: Digest) => Promise<E.Either<Rejection, Uint8Array>>;

/** The exact arguments, or the report of a call that must not run. */
type Checked = E.Either<CallReport, JsonObject>;

export interface PlanCheck {
  /** Synchronous when no blob has to be fetched. */
  check(call: ToolCall, plan: ToolBatchPlan | null): Checked | Promise<Checked>;
  /** How a call of the plan was allowed; null when nothing asks about it. */
  consentOf(call: ToolCall, plan: ToolBatchPlan | null): CallConsent | null;
  /** The definition of the tool that the call was planned with; null for a call that is not of the plan. */
  toolRefOf(call: ToolCall, plan: ToolBatchPlan | null): Digest | null;
}

export function newPlanCheck(readBlob: ReadBlob): PlanCheck {
  // A plan is as large as its batch: it is digested once, not once for each call.
  const checked = new WeakMap<ToolBatchPlan, PlanIndex | null>();

  function indexOf(plan: ToolBatchPlan): PlanIndex | null {
    const known = checked.get(plan);
    if (known !== undefined) return known;
    const genuine = planHash(plan) === plan.plan_hash;
    const index = genuine ? new Map(plan.planned_calls.map((call) => [call.call_id, call])) : null;
    checked.set(plan, index);
    return index;
  }

  function planFault(call: ToolCall, plan: ToolBatchPlan | null): string | null {
    if (plan === null) return 'the call was leased without its plan';
    const index = indexOf(plan);
    if (index === null) return 'the digest of the plan does not match its content';
    if (plan.plan_hash !== call.plan_hash) return 'the call belongs to another plan';
    const planned = index.get(call.call_id);
    if (planned === undefined) return 'the plan has no such call';
    const different = plannedFields.find((field) => planned[field] !== call[field]);
    return different === undefined ? null : `the call differs from the plan in "${different}"`;
  }

  const planned = ({ call_id }: ToolCall, plan: ToolBatchPlan | null): PlannedToolCall | undefined =>
    plan === null ? undefined : indexOf(plan)?.get(call_id);

  return {
    check(call, plan) {
      const fault = planFault(call, plan);
      if (fault !== null) return E.left(mismatch(fault));
      return exactArguments(call, readBlob);
    },
    consentOf: (call, plan) => planned(call, plan)?.consent ?? null,
    toolRefOf: (call, plan) => planned(call, plan)?.tool_ref ?? null,
  };
}

/** A leased call, as far as its arguments go. */
type Argued = Pick<EffectOfKind<'tool.call' | 'call.preview'>, 'arguments' | 'arguments_ref' | 'arguments_digest'>;

/** The arguments of a call, checked against their digest. Synchronous when no blob has to be fetched. */
export function exactArguments(call: Argued, readBlob: ReadBlob): Checked | Promise<Checked> {
  const { arguments_ref: ref } = call;
  return ref === undefined ? checkDigest(call, call.arguments ?? {}) : loadArguments(call, ref, readBlob);
}

/** Fields that the plan and the leased call share, and that must be equal. */
const plannedFields = [
  'tool_id',
  'tool_name',
  'arguments_digest',
  'read_only',
  'repeatable',
  'timeout_ms',
  'output_bytes_max',
] as const;

const loadArguments = async (call: Argued, content: Content, readBlob: ReadBlob): Promise<Checked> =>
  pipe(
    await argumentsText(content, readBlob),
    E.chain(parseArguments),
    E.chain((args) => checkDigest(call, args)),
  );

async function argumentsText(content: Content, readBlob: ReadBlob): Promise<E.Either<CallReport, string>> {
  if (isInline(content)) return E.right(content.text);
  return pipe(
    await readBlob(content.ref),
    E.bimap(
      ({ code }) => failedReport('arguments_missing', `cannot read its arguments: ${code}`),
      (bytes) => new TextDecoder().decode(bytes),
    ),
  );
}

const parseArguments = (text: string): Checked =>
  pipe(
    parseJson(text, BODY_BYTES_MAX),
    E.filterOrElseW(
      (value): value is JsonObject => isPlainObject(value),
      () => null,
    ),
    E.mapLeft(() => mismatch('its arguments are not a JSON object')),
  );

const checkDigest = (call: Argued, args: JsonObject): Checked =>
  digestJson(args) === call.arguments_digest
    ? E.right(args)
    : E.left(mismatch('its arguments do not match the digest in the plan'));

const mismatch = (fault: string): CallReport => failedReport('plan_mismatch', `not run: ${fault}`);
