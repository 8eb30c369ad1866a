// The plan of one batch: a bridge runs what is in it and nothing else (AOS P7, "Tool Orchestration Layer";
// docs/design.md, law 10).
import { type TypeOf, dictionary, flag, integer, list, oneOf, shape, text } from './codec.ts';
import { CallConsent } from './consent.ts';
import { CallId, Digest, ToolId, ToolName } from './ids.ts';
import {
  APPROVAL_TTL_MS_MAX,
  CALLS_PER_BATCH_MAX,
  CALL_TIMEOUT_MS_MAX,
  CLAIMS_PER_CALL_MAX,
  OUTPUT_BYTES_MAX,
} from './limits.ts';
import { Claim } from './tool-call.ts';
import { ToolExecutor } from './tool-spec.ts';

/** One accepted call: its tool, the digest of its arguments, and its claims. */
export const PlannedToolCall = shape(
  'PlannedToolCall',
  {
    call_id: CallId,
    tool_id: ToolId,
    tool_name: ToolName,
    tool_ref: Digest,
    executor: ToolExecutor,
    arguments_digest: Digest,
    parallel_safe: flag,
    claims: list(Claim, CLAIMS_PER_CALL_MAX),
    /** The tool changes nothing. The start of any other call is recorded before it runs. */
    read_only: flag,
    /** The call may run again after its bridge died: the tool is read-only or idempotent. */
    repeatable: flag,
    interrupt_behavior: oneOf('interrupt_behavior', ['block', 'cancel', 'continue']),
    timeout_ms: integer('timeout_ms', 1, CALL_TIMEOUT_MS_MAX),
    output_bytes_max: integer('output_bytes_max', 1, OUTPUT_BYTES_MAX),
  },
  {
    /** Only on calls that ask a person, or would without a grant or an exception. */
    consent: CallConsent,
    /** The earlier, identical call of the batch whose result this call shares. */
    shares: CallId,
    /** How long a person may take to fulfil the call, in milliseconds. */
    answer_within_ms: integer('answer_within_ms', 1, APPROVAL_TTL_MS_MAX),
    /** True, or absent: the call gets a preview when it waits for a person. */
    preview: flag,
  },
);
export type PlannedToolCall = TypeOf<typeof PlannedToolCall>;

/** Why a call was answered instead of being run. */
export const CallRejectionCode = oneOf('CallRejectionCode', [
  'duplicate_call_id',
  'tool_unknown',
  'tool_disabled',
  'tool_unavailable',
  'tool_not_offered',
  'tool_invalid_args',
  'executor_unsupported',
  'repeated_call',
  'batch_too_entangled',
  'permission_denied',
]);
export type CallRejectionCode = TypeOf<typeof CallRejectionCode>;

/** One refused call. `index` is its place among the observed calls (an id may occur twice). */
export const RejectedToolCall = shape('RejectedToolCall', {
  call_id: CallId,
  index: integer('index', 0, CALLS_PER_BATCH_MAX),
  tool_name: text('tool_name', { max: 256 }),
  code: CallRejectionCode,
  message: text('message', { max: 2_048 }),
});
export type RejectedToolCall = TypeOf<typeof RejectedToolCall>;

/** `groups`: calls by level, in observed order. `after`: the minimal set of earlier calls each call waits for. */
export const ToolExecutionPlan = shape('ToolExecutionPlan', {
  groups: list(list(CallId, CALLS_PER_BATCH_MAX, 1), CALLS_PER_BATCH_MAX),
  after: dictionary(CallId, list(CallId, CALLS_PER_BATCH_MAX), CALLS_PER_BATCH_MAX),
});
export type ToolExecutionPlan = TypeOf<typeof ToolExecutionPlan>;

/** The complete plan. `plan_hash` is the digest of the other three fields. */
export const ToolBatchPlan = shape('ToolBatchPlan', {
  planned_calls: list(PlannedToolCall, CALLS_PER_BATCH_MAX),
  rejected: list(RejectedToolCall, CALLS_PER_BATCH_MAX),
  execution_plan: ToolExecutionPlan,
  plan_hash: Digest,
});
export type ToolBatchPlan = TypeOf<typeof ToolBatchPlan>;
