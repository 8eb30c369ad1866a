// Laws 24 and 25 of the stream of a session, and what law 26 says of answers on record, worked out apart from the fold: which
// questions are open, what closes them, and what lost bridges leave.
import { callStateOf } from '../../../reducers/batch-index.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import { WITHDRAWN, callQuestionDigest } from '../../../schemas/elicitation.ts';
import type { EventOfKind, IngressKind } from '../../../schemas/event.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { CallState, SessionState } from '../../../schemas/state.ts';
import { closeQuestion, openQuestion } from './call-left.ts';
import type { Judge } from './judge.ts';
import { owedEffects } from './owed-effects.ts';
import { checkAttempt, scheduleRetry } from './retry-law.ts';
import type { CallEntry, FoldedEvent, StoredSession } from './stored-session.ts';

interface QuestionLawOptions {
  readonly judge: Judge;
  /** Whether the server knows the work of a handle. */
  readonly knows: (handle: string) => boolean;
}

/** Follows the questions and the notes of calls, and checks each event about them. Called after the laws of the event itself. */
export function checkQuestions(stored: StoredSession, folded: FoldedEvent, { judge, knows }: QuestionLawOptions): void {
  const { event } = folded;
  const call = 'call_id' in event ? stored.call(event.call_id) : undefined;
  if (call !== undefined) {
    if (event.kind === 'ToolCallStarted') call.left.isLeft = false;
    else if (event.kind === 'ToolCallNoted') noteHandle(call, event, judge);
    else if (event.kind === 'ToolCallAsked') ask(stored, call, event, judge);
    else if (event.kind === 'user.elicitation_result') answer(call, event, judge);
    else if (event.kind === 'LeaseExpired') lose(call, { folded, event, judge });
    else if (event.kind === 'ToolCallSettled') settle(call, { folded, event, judge, knows });
  }
  if (stored.asking.size > 0 || folded.before.active_tool_batch?.questions !== undefined) {
    for (const id of stored.asking) withdraw(stored, id, folded, judge);
    checkOwed(stored, folded, judge);
  }
}

function noteHandle(call: CallEntry, event: EventOfKind<'ToolCallNoted'>, judge: Judge): void {
  checkAttempt(call, event, judge);
  call.left.noted = event.handle;
}

function ask(stored: StoredSession, call: CallEntry, event: EventOfKind<'ToolCallAsked'>, judge: Judge): void {
  checkAttempt(call, event, judge);
  const { left } = call;
  const { attempt, call_id, question: asked, resume: state = null } = event;
  const isOpen = openQuestion(left) !== null;
  judge.check(!isOpen, 'no question is lost', () => `${call_id} asks while its question is open`);
  const digest = callQuestionDigest(asked, left.questions.length + 1);
  left.questions.push({ digest, attempt, state, answer: null, open: true });
  if (state !== null) left.isLeft = true;
  stored.asking.add(call_id);
}

function answer(call: CallEntry, event: EventOfKind<'user.elicitation_result'>, judge: Judge): void {
  const { call_id, question, attempt, action, content } = event;
  const open = openQuestion(call.left);
  const isIts = open?.digest === question && open.attempt === attempt;
  judge.check(isIts, 'answers are delivered once', () => `${call_id}: an answer to ${question}, which is not open`);
  if (closeQuestion(call.left, content === undefined ? { action } : { action, content })) scheduleRetry(call, 0);
}

interface Reported<K extends IngressKind> {
  readonly folded: FoldedEvent;
  readonly event: EventOfKind<K>;
  readonly judge: Judge;
}

/** The next attempt gets the newest handle, or what the lost one got. */
function lose(call: CallEntry, { folded, event, judge }: Reported<'LeaseExpired'>): void {
  const { left } = call;
  const { attempt, call_id } = event;
  closeQuestion(left, null);
  if (call.attempt === attempt) {
    // Law 6 decides whether the next attempt was refused rightly.
    const isRefused = stateOf(folded.state, call, call_id)?.status === 'rejected';
    const isKept = left.noted === null || isRefused || folded.before.run?.ending !== null;
    judge.check(isKept, 'noted work is awaited', () => `${call_id} is given up with its bridge, but was noted`);
    return;
  }
  const given = left.given.get(attempt);
  const next = left.noted === null || left.noted === given?.handle ? given : { handle: left.noted };
  if (next === undefined) return;
  left.given.set(call.attempt, next);
  left.isLeft = true;
}

/** After a passing failure the next attempt gets what the failed one got; what that one noted itself has failed. */
function settle(
  call: CallEntry,
  { folded, event, judge, knows }: Reported<'ToolCallSettled'> & Pick<QuestionLawOptions, 'knows'>,
): void {
  const { left } = call;
  closeQuestion(left, null);
  const { noted } = left;
  if (call.attempt === event.attempt) {
    const isGivenUp = event.outcome === 'unknown' && noted !== null && folded.before.run?.ending === null;
    const isKept = !isGivenUp || !knows(noted);
    judge.check(isKept, 'noted work is awaited', () => `${event.call_id} is unknown, but the server knows ${noted}`);
    return;
  }
  const given = left.given.get(event.attempt);
  if (given !== undefined) left.given.set(call.attempt, given);
  if (noted !== given?.handle) left.noted = null;
}

/** What ends a question without an answer of a person: its time, the end of its run, and changes of what is allowed. */
const WITHDRAWING: ReadonlySet<IngressKind> = new Set<IngressKind>([
  'TimeReached',
  'user.interrupt',
  'RunCancelled',
  'RunFailed',
  'ConsentPolicySet',
  'ToolRegistrySet',
  'ToolsetSet',
  'ToolsetApproved',
  'ToolsetRemoved',
  'ToolProfileSelected',
  'ToolOverridesSet',
  'SessionConfigured',
  'HostSessionUpdated',
  // The report of another call may close the host session.
  'ToolCallSettled',
]);

/** Notes that a call asks no more; unless a report or an answer says so, for a reason on record. */
function withdraw(stored: StoredSession, id: CallId, { event, state }: FoldedEvent, judge: Judge): void {
  const call = stored.call(id);
  const open = call === undefined ? null : openQuestion(call.left);
  const now = stateOf(state, call, id);
  if (call !== undefined && open !== null) {
    if (now?.question?.digest === open.digest) return;
    // A call that was denied before it asked: law 6 decides whether it is refused rightly.
    const isRefused = event.kind === 'ToolCallAsked' && now?.status === 'rejected';
    const isReason = isRefused || WITHDRAWING.has(event.kind);
    judge.check(isReason, 'no question is lost', () => `${event.kind} ends the question of ${id}`);
    const goesOn = now !== undefined && !isTerminal(now.status);
    if (closeQuestion(call.left, goesOn ? WITHDRAWN : null)) scheduleRetry(call, 0);
  }
  stored.asking.delete(id);
}

function stateOf({ active_tool_batch: batch }: SessionState, call: CallEntry | undefined, id: CallId) {
  return batch === null || batch.batch_id !== call?.batch_id ? undefined : (callStateOf(batch, id) as CallState);
}

/** Each open question, and no other, is put to a person. */
function checkOwed(stored: StoredSession, { event, state }: FoldedEvent, judge: Judge): void {
  const due = [...stored.asking].flatMap((id) => {
    const open = openQuestion((stored.call(id) as CallEntry).left);
    return open === null ? [] : [`${id} ${open.attempt} ${open.digest}`];
  });
  const owed = owedEffects(state).flatMap((effect) =>
    effect.kind === 'agent.elicitation' ? [`${effect.call_id} ${effect.attempt} ${effect.question}`] : [],
  );
  const isSame = due.toSorted().join() === owed.toSorted().join();
  judge.check(
    isSame,
    'no question is lost',
    () => `after ${event.event_id} ${due.length} questions are open: ${due.join()}; people are asked: ${owed.join()}`,
  );
}
