// What an attempt of a call leaves to the next one, and what it takes with it.
import { type ElicitationAnswer, WITHDRAWN } from '../schemas/elicitation.ts';
import { invariant } from '../schemas/rejection.ts';
import type { CallState } from '../schemas/state.ts';
import { inOrder } from './next-state.ts';

/** The next attempt, queued. What only the attempt before had is gone: its bridge, its question, an answer it was owed. */
function nextAttempt(call: CallState): CallState {
  const { answer: _a, due_at_ms: _b, question: _c, stopping: _d, ...rest } = call;
  return { ...rest, attempt: call.attempt + 1, owner: null, status: 'queued' };
}

/** After a lost bridge: work that was noted is waited for again, and what this attempt was given is given again. */
export function afterLoss(call: CallState): CallState {
  const { noted, resume } = call;
  const known = noted === undefined || noted === resume?.handle;
  return known ? nextAttempt(call) : inOrder({ ...nextAttempt(call), resume: { handle: noted } });
}

/** After a temporary failure: this attempt is made again, with what it was given. Work that it began itself has failed. */
export function afterFailure(call: CallState): CallState {
  const { noted, ...rest } = nextAttempt(call);
  return noted !== undefined && noted === rest.resume?.handle ? inOrder({ ...rest, noted }) : rest;
}

/**
 * After the answer to its question: the next attempt gets the state of the one that asked, with the answer; a call that still
 * runs is owed the answer.
 */
export function afterAnswer(call: CallState, answer: ElicitationAnswer): CallState {
  const { due_at_ms: _over, question, ...rest } = call;
  invariant(question !== undefined, 'an answer is to an open question');
  if (question.state === undefined) {
    return inOrder({ ...rest, answer: { answer, number: rest.questions ?? 1, question: question.digest } });
  }
  const handle = rest.noted === undefined ? {} : { handle: rest.noted };
  return inOrder({ ...nextAttempt(rest), resume: { answer, ...handle, state: question.state } });
}

/** A running call whose question is withdrawn, which it reads as `cancel`; any other call unchanged. */
export const withoutQuestion = (call: CallState): CallState =>
  call.status === 'running' && call.question !== undefined ? afterAnswer(call, WITHDRAWN) : call;
