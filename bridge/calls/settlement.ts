// Turns the report of a call into its settlement event.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { Json } from '../../schemas/json.ts';
import type { ToolResult } from '../../schemas/tool-call.ts';
import { type PutBlob, contentOf, outputContent } from '../engine-link/text-content.ts';
import type { CallEnd } from '../executors/bounded-run.ts';
import { clip } from '../log.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import { RESULT_DATA_CHARS_MAX } from '../../schemas/limits.ts';

type ToolCall = EffectOfKind<'tool.call'>;

/** The settlement of a call; large output is stored as a blob before this resolves. */
export async function settlementOf(
  call: ToolCall,
  { outcome, report, durationMs }: CallEnd,
  putBlob: PutBlob,
): Promise<Ingress> {
  const { text, whole, attachments, host_session, changes, workspace } = report;
  const shown = text === '' ? '(no output)' : text;
  const output = await outputContent(shown, { bytesMax: call.output_bytes_max, whole }, putBlob);
  const { batch_id, call_id, plan_hash, attempt } = call;
  // Field by field, because this runs for every call and spreading costs more than the rest of the function.
  const event: Mutable<Settlement> = {
    kind: 'ToolCallSettled',
    batch_id,
    call_id,
    plan_hash,
    attempt,
    event_id: eventIdOf(call.effect_id, 'settled'),
    result: resultOf(report),
    output,
    outcome,
    duration_ms: durationMs,
  };
  if (outcome !== 'succeeded') event.code = report.code ?? 'tool_failed';
  if (outcome === 'failed' && report.retryable === true) event.retryable = true;
  if (attachments !== undefined) event.attachments = attachments;
  const longData = longDataOf(report);
  if (longData !== null) event.data_ref = await contentOf(longData, putBlob);
  if (host_session !== undefined) event.host_session = host_session;
  if (changes !== undefined) event.changes = changes;
  if (changes !== undefined && workspace !== undefined) event.workspace = workspace;
  return event;
}

type Settlement = Extract<Ingress, { readonly kind: 'ToolCallSettled' }>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Settles a call whose own settlement cannot be recorded. */
export function unreportableSettlement(call: ToolCall, { code, message }: { code: string; message: string }): Ingress {
  const fault = clip(`the result could not be recorded (${code}: ${message})`);
  return substituteSettlement(call, 'unreportable', { outcome: 'failed', code: 'invalid_output', message: fault });
}

/** Settles a call that an earlier process started without a note of how it ended. */
export function unknownSettlement(call: ToolCall): Ingress {
  return substituteSettlement(call, 'unknown', { outcome: 'unknown', code: 'outcome_unknown', message: UNKNOWN_TEXT });
}

/** Settles a call that an earlier attempt began, and that this process cannot continue. */
export const unresumedSettlement = (call: ToolCall, why: string): Ingress =>
  substituteSettlement(call, 'unresumed', {
    outcome: 'unknown',
    code: 'resume_unsupported',
    message: `${why}. Check the current state before you make the call again.`,
  });

interface Substitute {
  readonly outcome: 'failed' | 'unknown';
  readonly code: string;
  readonly message: string;
}

/** A settlement that no executor made; `what` distinguishes its event id from that of the call's own settlement. */
function substituteSettlement(call: ToolCall, what: string, { outcome, code, message }: Substitute): Ingress {
  const report = failedReport(code, message);
  const fields = { result: resultOf(report), output: { text: report.text }, outcome, code };
  return { ...addressOf(call), event_id: eventIdOf(call.effect_id, what), ...fields };
}

const UNKNOWN_TEXT =
  'The bridge that ran this call died, and it is not known what the call did. ' +
  'Check the current state before you make the call again.';

const addressOf = ({ batch_id, call_id, plan_hash, attempt }: ToolCall) =>
  ({ kind: 'ToolCallSettled', batch_id, call_id, plan_hash, attempt }) as const;

/** The data of a report as JSON, when it is too long for its result; null otherwise. */
function longDataOf({ data }: CallReport): string | null {
  const text = data === undefined ? '' : JSON.stringify(data);
  return text.length > RESULT_DATA_CHARS_MAX ? text : null;
}

// The result states how the call ended. The text that the model reads is the output, which is not repeated here.
function resultOf(report: CallReport): ToolResult {
  const { success, text, message, data, terminal, needsFollowup, nextAction } = report;
  const result: Record<string, Json> & { success: boolean } = { success };
  if (message !== undefined) result['message'] = message;
  if (!success) result['error'] = clip(text);
  if (data !== undefined && longDataOf(report) === null) result['data'] = data;
  if (terminal !== undefined) result['terminal'] = terminal;
  if (needsFollowup !== undefined) result['needsFollowup'] = needsFollowup;
  if (nextAction !== undefined) result['nextAction'] = nextAction;
  return result;
}
