// The projection of one recorded event: what a client stream says of it. It follows from the event and the states around it,
// so that a reader can begin at any position.
import { callStateAt, changedBetween } from '../../../reducers/batch-index.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import { canonicalText } from '../../../schemas/canonical.ts';
import { type Content, isInline } from '../../../schemas/content.ts';
import type { IngressEvent } from '../../../schemas/event.ts';
import type { RunId } from '../../../schemas/ids.ts';
import type { RunEnd } from '../../../schemas/run.ts';
import type { ActiveToolBatch } from '../../../schemas/state.ts';
import { type ToolCallObserved, shownArguments } from '../../../schemas/tool-call.ts';
import { batchAfter, callsMade, refusedTurn } from '../batch-steps.ts';
import type { FoldedEvent } from '../folded-event.ts';
import type { ClientEvent, StreamedEvent, StreamedInput, StreamedText } from './client-event.ts';
import { type Question, askedIndexes, questionAt } from './questions.ts';

/**
 * What a client stream says of a recorded event, in order; most often nothing. The last one's id is the position of the
 * event; those before it have a number as well, from 1: `7.1`, `7.2`, `7`. A reader that resumes after an id misses nothing and
 * gets nothing twice.
 */
export function clientEvents(folded: FoldedEvent): readonly StreamedEvent[] {
  const said = [
    ...closedQuestions(folded),
    ...settled(folded),
    ...written(folded),
    ...made(folded),
    ...openedQuestions(folded),
    ...lifecycle(folded),
  ];
  return said.map((event, index) => ({
    ...event,
    id: index === said.length - 1 ? `${folded.position}` : `${folded.position}.${index + 1}`,
  }));
}

/** The results of calls that were open before the event. */
function* settled(folded: FoldedEvent): Generator<ClientEvent> {
  const was = folded.before.active_tool_batch;
  const now = was === null ? null : batchAfter(folded);
  if (was === null || now === null) return;
  for (const index of changedBetween(was, now)) {
    if (!isTerminal(callStateAt(was, index)?.status ?? 'queued')) yield* resultAt(now, index);
  }
}

/** The result of a call, once it is terminal. */
function* resultAt(batch: ActiveToolBatch, index: number): Generator<ClientEvent> {
  const call = batch.observed[index];
  const state = callStateAt(batch, index);
  if (call === undefined || state === undefined || !isTerminal(state.status)) return;
  const { status, code, output } = state;
  yield resultOf(call, textOf(output), status === 'succeeded' ? null : (code ?? status));
}

const resultOf = (
  { tool_name, call_id }: ToolCallObserved,
  output: StreamedText,
  error: string | null,
): ClientEvent => ({
  event: 'tool_result',
  data: { tool: tool_name, tool_call_id: call_id, output, error },
});

/** The text of a turn, and what it cost. */
function* written({ event }: FoldedEvent): Generator<ClientEvent> {
  if (event.kind !== 'ToolCallsObserved' && event.kind !== 'ContextCompacted') return;
  const text = event.kind === 'ToolCallsObserved' ? textOf(event.content ?? null) : '';
  if (text !== '') {
    const block = { block_index: 0, block_type: 'text' } as const;
    yield { event: 'content_block_start', data: block };
    yield { event: 'text_delta', data: { text } };
    yield { event: 'content_block_stop', data: block };
  }
  if (event.usage !== undefined) yield { event: 'usage', data: event.usage };
}

/** The calls that the event adds, each with its result when it has one already: it was rejected, or its whole turn was refused. */
function* made(folded: FoldedEvent): Generator<ClientEvent> {
  const { calls = [] } = callsMade(folded) ?? {};
  const batch = folded.after.active_tool_batch;
  for (const [index, call] of calls.entries()) {
    const block = { block_index: index + 1, block_type: 'tool_use' } as const;
    const { tool_name: tool, call_id: tool_call_id } = call;
    yield { event: 'content_block_start', data: block };
    yield { event: 'tool_call', data: { tool, tool_call_id, input: inputOf(call) } };
    yield { event: 'content_block_stop', data: block };
  }
  for (const [index, call] of calls.entries()) {
    if (batch !== null) yield* resultAt(batch, index);
    else {
      const { code, message } = refusedTurn(folded.after);
      yield resultOf(call, message, code);
    }
  }
}

function* closedQuestions(folded: FoldedEvent): Generator<ClientEvent> {
  const was = folded.before.active_tool_batch;
  const after = folded.after.active_tool_batch;
  const now = after?.batch_id === was?.batch_id ? after : null;
  if (was === null) return;
  for (const index of askedIndexes(was, now)) {
    const asked = questionAt(was, index);
    if (asked === null || questionAt(now, index)?.request_id === asked.request_id) continue;
    const { request_id, planned } = asked;
    const answer = answerIn(folded.event, was, asked);
    const task_id = folded.after.session_id;
    yield { event: 'hitl_resolved', data: { request_id, task_id, tool_call_id: planned.call_id, answer } };
  }
}

/** What a person answered to this question with this event. */
function answerIn(event: IngressEvent, batch: ActiveToolBatch, { planned }: Question): StreamedText | null {
  if (!('call_id' in event) || !('batch_id' in event)) return null;
  if (event.batch_id !== batch.batch_id || event.call_id !== planned.call_id) return null;
  if (event.kind === 'user.elicitation_result') {
    return event.content === undefined ? event.action : canonicalText(event.content);
  }
  if (event.kind !== 'user.tool_confirmation' && event.kind !== 'user.custom_tool_result') return null;
  if (event.kind === 'user.custom_tool_result') return textOf(event.output);
  return event.result === 'allow' ? 'yes' : 'no';
}

function* openedQuestions({ event, before, after }: FoldedEvent): Generator<ClientEvent> {
  const now = after.active_tool_batch;
  const was = before.active_tool_batch?.batch_id === now?.batch_id ? before.active_tool_batch : null;
  if (now === null) return;
  for (const index of askedIndexes(was, now)) {
    const asked = questionAt(now, index);
    const call = now.observed[index];
    if (asked === null || call === undefined || questionAt(was, index)?.request_id === asked.request_id) continue;
    const { request_id, kind, planned, open } = asked;
    const due = callStateAt(now, index)?.due_at_ms;
    yield {
      event: 'hitl_request',
      data: {
        request_id,
        task_id: after.session_id,
        kind,
        question: open?.asked.message ?? QUESTIONS[kind](call.tool_name),
        created_at: event.at_ms,
        tool: call.tool_name,
        tool_call_id: call.call_id,
        input: inputOf(call),
        batch_id: now.batch_id,
        arguments_digest: planned.arguments_digest,
        ...(due === undefined ? {} : { expires_at: due }),
        ...(open === undefined ? {} : { asked: open.asked, attempt: open.attempt, question_digest: open.digest }),
      },
    };
  }
}

const QUESTIONS: Readonly<Record<Question['kind'], (tool: string) => string>> = {
  permission: (tool) => `Allow the call of ${tool}?`,
  question: (tool) => `What is the result of ${tool}?`,
  elicitation: (tool) => `${tool} asks`,
};

/** The runs that the event ends and starts. A run may do both in one event. */
function* lifecycle({ event, before, after }: FoldedEvent): Generator<ClientEvent> {
  const task_id = after.session_id;
  const timestamp = event.at_ms;
  const started = (turn_id: RunId): ClientEvent => ({
    event: 'thread_lifecycle',
    data: { phase: 'started', task_id, turn_id, timestamp },
  });
  for (const { run_id: turn_id, outcome, code, message } of event.ends ?? ([] as readonly RunEnd[])) {
    if (turn_id !== before.run?.run_id) yield started(turn_id);
    const phase = outcome === 'failed' ? 'errored' : 'completed';
    if (outcome === 'failed') yield { event: 'error', data: { error: code ?? 'failed', message: message ?? '' } };
    yield { event: 'thread_lifecycle', data: { phase, task_id, turn_id, timestamp, outcome } };
  }
  if (after.run !== null && after.run.run_id !== before.run?.run_id) yield started(after.run.run_id);
}

const textOf = (content: Content | null): StreamedText =>
  content === null ? '' : isInline(content) ? content.text : content;

function inputOf(call: ToolCallObserved): StreamedInput {
  const shown = shownArguments(call);
  return call.arguments_ref !== undefined && isInline(call.arguments_ref) ? call.arguments_ref.text : shown;
}
