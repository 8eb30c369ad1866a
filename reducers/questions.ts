// Calls that outlive their bridge, and calls that ask (docs/consent.md, "Questions of calls"): the handle of work outside, the
// question of a running call, its answer. Each function folds one kind of event.
import { type ElicitationAnswer, callQuestionDigest } from '../schemas/elicitation.ts';
import type { EventOfKind } from '../schemas/event.ts';
import type { CallId } from '../schemas/ids.ts';
import { type BatchEdit, editBatch } from './batch-edit.ts';
import { afterAnswer } from './call-attempts.ts';
import { type NextState, inOrder } from './next-state.ts';

export function noteHandle(next: NextState, { call_id, handle }: EventOfKind<'ToolCallNoted'>): void {
  const edit = editBatch(next);
  edit.put(call_id, inOrder({ ...edit.call(call_id), noted: handle }));
  edit.finish();
}

/** A question stays open as long as one about a permission. With `resume` no bridge has the call any more. */
export function askQuestion(next: NextState, event: EventOfKind<'ToolCallAsked'>): void {
  const { call_id, question: asked, resume: state } = event;
  const edit = editBatch(next);
  const { answer: _ofTheOneBefore, ...call } = edit.call(call_id);
  const questions = (call.questions ?? 0) + 1;
  const digest = callQuestionDigest(asked, questions);
  const ttl = next.consent.policy.approval_ttl_ms;
  edit.put(
    call_id,
    inOrder({
      ...call,
      ...(ttl === undefined ? {} : { due_at_ms: event.at_ms + ttl }),
      question: state === undefined ? { asked, digest } : { asked, digest, state },
      questions,
      ...(state === undefined ? {} : { owner: null, status: 'waiting' as const }),
    }),
  );
  if (ttl !== undefined) edit.addTime(call_id);
  edit.finish();
}

export function answerQuestion(next: NextState, event: EventOfKind<'user.elicitation_result'>): void {
  const { action, content, call_id } = event;
  const edit = editBatch(next);
  answerOpen(edit, call_id, content === undefined ? { action } : { action, content });
  edit.finish();
}

/** Answers the open question of a call. */
export function answerOpen(edit: BatchEdit, id: CallId, answer: ElicitationAnswer): void {
  edit.dropTime(id);
  edit.put(id, afterAnswer(edit.call(id), answer));
}
