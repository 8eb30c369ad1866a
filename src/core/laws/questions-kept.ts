// Questions of calls were kept, and noted work was awaited (docs/design.md, laws 24 and 25): a call asks one question at a time,
// goes on when it has an answer, and no event ends a question that gives no reason; a lost bridge does not end a call whose
// handle is on record.
import { callStateAt } from '../../../reducers/batch-index.ts';
import type { IngressKind } from '../../../schemas/event.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import { statusAfter } from './results.ts';

export function checkQuestionsKept(judged: LawCase): readonly LawBreach[] {
  return [...checkAsking(judged), ...checkVanished(judged)];
}

/** A call asks, or begins its next attempt, while its question is open. */
function checkAsking(judged: LawCase): readonly LawBreach[] {
  const { folded, call } = judged;
  const { kind } = folded.event;
  const open = call?.question ?? null;
  if (call === null || open === null || (kind !== 'ToolCallAsked' && kind !== 'ToolCallStarted')) return [];
  const does = kind === 'ToolCallAsked' ? 'asks again' : 'begins its next attempt';
  const message = `"${call.call_id}" ${does}, but its question has no answer`;
  return [breachOf('questions_kept', judged, { against: open.position, message })];
}

/** What ends a question, or withdraws it: every kind that may say so. Only these withdraw those of other calls. */
const ENDS_QUESTIONS: ReadonlySet<IngressKind> = new Set<IngressKind>([
  'ConsentPolicySet',
  'HostSessionUpdated',
  'LeaseExpired',
  'RunCancelled',
  'RunFailed',
  'SessionConfigured',
  'TimeReached',
  'ToolCallAsked',
  'ToolCallSettled',
  'ToolOverridesSet',
  'ToolProfileSelected',
  'ToolRegistrySet',
  'ToolsetApproved',
  'ToolsetRemoved',
  'ToolsetSet',
  'user.elicitation_result',
  'user.interrupt',
]);

/** An open question is gone after an event that says nothing about questions. */
function checkVanished(judged: LawCase): readonly LawBreach[] {
  const { folded, reading } = judged;
  const { before, event, after } = folded;
  const { open } = reading;
  if (open === null || before.active_tool_batch?.questions === undefined || ENDS_QUESTIONS.has(event.kind)) return [];
  return open.calls.flatMap((call) => {
    const { question, index } = call;
    const batch = after.active_tool_batch?.batch_id === open.batch_id ? after.active_tool_batch : null;
    const now = batch === null ? undefined : callStateAt(batch, index)?.question;
    if (question === null || now?.digest === question.digest) return [];
    const message = `${event.kind} ends the question of "${call.call_id}", which has no answer`;
    return [breachOf('questions_kept', judged, { against: question.position, call, message })];
  });
}

/** A noted call is given up with its bridge, although its run goes on. */
export function checkNotedAwaited(judged: LawCase): readonly LawBreach[] {
  const { folded, call } = judged;
  const { event, before } = folded;
  if (event.kind !== 'LeaseExpired' || call === null || call.notedAt === null || before.run?.ending !== null) return [];
  if (statusAfter(folded, call) !== 'unknown') return [];
  const message = `"${call.call_id}" is unknown because its bridge was lost, but the handle of its work is on record`;
  return [breachOf('noted_work_awaited', judged, { against: call.notedAt, message })];
}
