// What one call asked and noted, as `explain` reports it: what was asked, how each question ended, and the handles of work outside.
import { isTerminal } from '../../reducers/call-status.ts';
import type { CallQuestion, ElicitationAction } from '../../schemas/elicitation.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { CallState } from '../../schemas/state.ts';
import { type Moment, momentOf } from './explain-confirmation.ts';
import type { FoldedEvent } from './folded-event.ts';

export interface ExplainedQuestion extends Moment {
  readonly attempt: number;
  /** Names it in an answer. */
  readonly digest: Digest;
  readonly asked: CallQuestion;
  /** The attempt ended with it, and the next one has the answer; else the call kept running. */
  readonly ends_attempt: boolean;
  /** Null while it is open. */
  readonly ended: QuestionEnd | null;
}

export interface QuestionEnd extends Moment {
  /** What the call was answered, which is `cancel` where no person answered; null when it was answered nothing. */
  readonly action: ElicitationAction | null;
  /** What a person gave with `accept`; null without content. */
  readonly content: JsonObject | null;
  /** The name of the person, as the client knew it. */
  readonly by: string | null;
  /** The kind of event that ended it: an answer, an expiry, the end of the call, its attempt or its run. */
  readonly with: IngressEvent['kind'];
}

export interface ExplainedNote extends Moment {
  readonly attempt: number;
  /** What the work outside is called. */
  readonly handle: string;
}

/** A call before and after an event. */
export interface CallStep {
  readonly folded: FoldedEvent;
  readonly was: CallState;
  readonly now: CallState;
}

/** The questions of a call after one more event. */
export function questionsAfter(known: readonly ExplainedQuestion[], step: CallStep): readonly ExplainedQuestion[] {
  const { folded, was, now } = step;
  const isOver = was.question !== undefined && was.question.digest !== now.question?.digest;
  const ended = isOver ? endOf(step, was.question) : null;
  const before = known.map((one) => (one.ended === null ? { ...one, ended } : one));
  const open = now.question;
  if (open === undefined || open.digest === was.question?.digest) return before;
  const { asked, digest, state } = open;
  const made = { ...momentOf(folded), attempt: now.attempt, digest, asked, ends_attempt: state !== undefined };
  return [...before, { ...made, ended: null }];
}

function endOf({ folded, was, now }: CallStep, { digest, state }: NonNullable<CallState['question']>): QuestionEnd {
  const { event } = folded;
  const moment = { ...momentOf(folded), with: event.kind };
  if (event.kind === 'user.elicitation_result') {
    const { action, content = null, by = null } = event;
    return { ...moment, action, content, by };
  }
  const isTold = state === undefined ? now.answer?.question === digest : now.attempt > was.attempt;
  return { ...moment, action: isTold ? 'cancel' : null, content: null, by: null };
}

/** What an event notes of a call; at most one. */
export function notesIn({ folded, was }: CallStep, id: string): readonly ExplainedNote[] {
  const { event } = folded;
  if (event.kind !== 'ToolCallNoted' || event.call_id !== id || isTerminal(was.status)) return [];
  return [{ ...momentOf(folded), attempt: event.attempt, handle: event.handle }];
}

/** Why the attempt of a call was over without a result; null when it was not, or because the call asked. */
export function lossIn({ folded, was, now }: CallStep): 'lost' | 'retried' | null {
  if (now.attempt <= was.attempt) return null;
  if (folded.event.kind === 'LeaseExpired') return 'lost';
  return was.question?.state === undefined ? 'retried' : null;
}
