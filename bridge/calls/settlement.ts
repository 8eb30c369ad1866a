// The report of one call as the event it becomes.
import type { EffectOfKind } from '../../schemas/effect.ts';
import type { Ingress } from '../../schemas/event.ts';
import type { Json } from '../../schemas/json.ts';
import type { ToolResult } from '../../schemas/tool-call.ts';
import { type PutBlob, outputContent } from '../engine-link/text-content.ts';
import type { CallEnd } from '../executors/bounded-run.ts';
import { clip } from '../log.ts';
import { eventIdOf } from '../engine-link/event-id.ts';
import { type CallReport, failedReport } from '../executors/call-report.ts';
import { RESULT_DATA_CHARS_MAX } from '../../schemas/limits.ts';

type ToolCall = EffectOfKind<'tool.call'>;

/** The settlement of a call; large output is a blob before this answers. */
export async function settlementOf(
  call: ToolCall,
  { outcome, report, durationMs }: CallEnd,
  putBlob: PutBlob,
): Promise<Ingress> {
  const { text, whole, host_session, changes } = report;
  const shown = text === '' ? '(no output)' : text;
  const output = await outputContent(shown, { bytesMax: call.output_bytes_max, whole }, putBlob);
  const { batch_id, call_id, plan_hash, attempt } = call;
  // Field by field: it is made for every call, and spreading costs more than all the rest of it.
  const event: Filling<Settlement> = {
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
  if (host_session !== undefined) event.host_session = host_session;
  if (changes !== undefined) event.changes = changes;
  return event;
}

type Settlement = Extract<Ingress, { readonly kind: 'ToolCallSettled' }>;

/** A value that is still being made. */
type Filling<T> = { -readonly [K in keyof T]: T[K] };

/** What is said of a call whose own settlement the engine would not take for what it is. */
export function unreportable(call: ToolCall, { code, message }: { code: string; message: string }): Ingress {
  const fault = clip(`the result could not be recorded (${code}: ${message})`);
  return inItsPlace(call, 'unreportable', { outcome: 'failed', code: 'invalid_output', message: fault });
}

/** Said of a call that a process before this one has started, when nobody noted how it ended. */
export function unknownSettlement(call: ToolCall): Ingress {
  return inItsPlace(call, 'unknown', { outcome: 'unknown', code: 'outcome_unknown', message: UNKNOWN_TEXT });
}

interface Said {
  readonly outcome: 'failed' | 'unknown';
  readonly code: string;
  readonly message: string;
}

/** A settlement that no executor made; `what` tells its event from the call's own. */
function inItsPlace(call: ToolCall, what: string, { outcome, code, message }: Said): Ingress {
  const report = failedReport(code, message);
  const said = { result: resultOf(report), output: { text: report.text }, outcome, code };
  return { ...addressOf(call), event_id: eventIdOf(call.effect_id, what), ...said };
}

const UNKNOWN_TEXT =
  'error: outcome_unknown: The bridge that ran this call died, and nobody can say what the call did. ' +
  'Look at the state of things before you make it again.';

const addressOf = ({ batch_id, call_id, plan_hash, attempt }: ToolCall) =>
  ({ kind: 'ToolCallSettled', batch_id, call_id, plan_hash, attempt }) as const;

// The result says what came of the call; what the model reads of it is the output, and is not said twice.
function resultOf(report: CallReport): ToolResult {
  const { success, text, data, terminal, needsFollowup, nextAction } = report;
  const result: Record<string, Json> & { success: boolean } = { success };
  if (!success) result['error'] = clip(text);
  if (data !== undefined && JSON.stringify(data).length <= RESULT_DATA_CHARS_MAX) result['data'] = data;
  if (terminal !== undefined) result['terminal'] = terminal;
  if (needsFollowup !== undefined) result['needsFollowup'] = needsFollowup;
  if (nextAction !== undefined) result['nextAction'] = nextAction;
  return result;
}
