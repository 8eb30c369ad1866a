// Admission of notes and questions of running calls, and of the answers to these questions: an answer names the call, its
// attempt and the digest of the question that is open, so it counts once, and never for another question.
import { isLeft } from 'fp-ts/lib/Either.js';
import { elicitationBytes } from '../schemas/elicitation.ts';
import type { EventOfKind } from '../schemas/event.ts';
import { ELICITATION_ANSWER_BYTES_MAX, QUESTIONS_PER_CALL_MAX, QUESTION_BYTES_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type { CallState, SessionState } from '../schemas/state.ts';
import { alreadySettled, findCall, findOpenCall } from './batch-admission.ts';
import { isTerminal } from './call-status.ts';

export function admitNoted(state: SessionState, event: EventOfKind<'ToolCallNoted'>): Rejection | null {
  const found = findOpenCall(state, event);
  return isLeft(found) ? found.left : findNotRunning(found.right.call);
}

export function admitAsked(state: SessionState, event: EventOfKind<'ToolCallAsked'>): Rejection | null {
  const found = findOpenCall(state, event);
  if (isLeft(found)) return found.left;
  const { call } = found.right;
  const fault = findNotRunning(call);
  if (fault !== null) return fault;
  if (call.stopping === true) return reject('call_not_running', '/call_id', 'the call is being stopped');
  if (call.question !== undefined) {
    return reject('question_open', '/call_id', `the question ${call.question.digest} of the call is open`);
  }
  if ((call.questions ?? 0) >= QUESTIONS_PER_CALL_MAX) {
    return reject('questions_exhausted', '/call_id', `the call has asked ${QUESTIONS_PER_CALL_MAX} questions`);
  }
  const bytes = elicitationBytes(event.question);
  if (bytes <= QUESTION_BYTES_MAX) return null;
  return reject('too_large', '/question', `the question has ${bytes} bytes, of at most ${QUESTION_BYTES_MAX}`);
}

const findNotRunning = ({ status }: CallState): Rejection | null =>
  status === 'running' ? null : reject('call_not_running', '/call_id', `the call is ${status}; record its start first`);

export function admitElicited(state: SessionState, event: EventOfKind<'user.elicitation_result'>): Rejection | null {
  const found = findCall(state, event);
  if (isLeft(found)) return found.left;
  const { attempt, question, status } = found.right;
  if (isTerminal(status)) return alreadySettled(found.right);
  if (event.attempt !== attempt) {
    return reject('stale_attempt', '/attempt', `the call is at attempt ${attempt}, not ${event.attempt}`);
  }
  if (question === undefined) return reject('question_not_open', '/call_id', `the call is ${status}, and asks nothing`);
  if (event.question !== question.digest) {
    return reject('question_mismatch', '/question', `the digest of the open question is ${question.digest}`);
  }
  return findAnswerFault(event);
}

function findAnswerFault(event: EventOfKind<'user.elicitation_result'>): Rejection | null {
  const { action, content, content_verdict: verdict } = event;
  if (action !== 'accept') {
    return content === undefined
      ? null
      : reject('answer_invalid', '/content', `an answer that is ${action} has no content; leave it out`);
  }
  const bytes = elicitationBytes(content === undefined ? { action } : { action, content });
  if (bytes > ELICITATION_ANSWER_BYTES_MAX) {
    const message = `the answer has ${bytes} bytes, of at most ${ELICITATION_ANSWER_BYTES_MAX}`;
    return reject('too_large', '/content', message);
  }
  return verdict?.valid === false
    ? reject('answer_invalid', `/content${verdict.path ?? ''}`, verdict.message ?? 'it does not fit')
    : null;
}
