// Questions were answered by digest: an answer names a call that waited for it and the digest of its exact arguments, and a
// call that asks a person does not run without one (docs/design.md, law 9).
import { canonicalText } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import type { CallReading } from './reading.ts';
import { isWork } from './results.ts';

export function checkAnswers(judged: LawCase): readonly LawBreach[] {
  return [
    ...checkAnswer(judged),
    ...checkElicited(judged),
    ...checkPermission(judged),
    ...checkPreviewed(judged),
    ...checkAmended(judged),
  ];
}

const broken = (judged: LawCase, against: number, message: string): readonly LawBreach[] => [
  breachOf('answered_by_digest', judged, { against, message }),
];

type Answer = EventOfKind<'user.tool_confirmation'> | EventOfKind<'user.custom_tool_result'>;

const isAnswer = (event: LawCase['folded']['event']): event is Answer =>
  event.kind === 'user.tool_confirmation' || event.kind === 'user.custom_tool_result';

/** The answer of a person names an open call that asks for it, with its arguments. */
function checkAnswer(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, batch, call } = judged;
  const { event } = folded;
  if (!isAnswer(event)) return [];
  if (batch === null || call === null) {
    const against = batch?.openedAt ?? reading.open?.openedAt ?? reading.closed?.position ?? -1;
    return broken(judged, against, `a person answers "${event.call_id}" of ${event.batch_id}, which is not open`);
  }
  const fault = findAnswerFault(event, call);
  return fault === null ? [] : broken(judged, fault.against ?? batch.openedAt, fault.message);
}

/** The answer to what a call asks names the question that is open, and its attempt. */
function checkElicited(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call } = judged;
  const { event } = folded;
  if (event.kind !== 'user.elicitation_result') return [];
  if (batch === null || call === null) {
    return broken(
      judged,
      batch?.openedAt ?? -1,
      `a person answers "${event.call_id}" of ${event.batch_id}, which is not open`,
    );
  }
  const { question, call_id } = call;
  if (question?.digest === event.question && question.attempt === event.attempt) return [];
  const due =
    question === null ? 'it asks nothing' : `its question is ${question.digest} of attempt ${question.attempt}`;
  return broken(
    judged,
    question?.position ?? batch.openedAt,
    `the answer to "${call_id}" is to ${event.question} of attempt ${event.attempt}, but ${due}`,
  );
}

interface AnswerFault {
  /** Where the call was decided; absent when the plan is what the answer contradicts. */
  readonly against?: number;
  readonly message: string;
}

function findAnswerFault(event: Answer, call: CallReading): AnswerFault | null {
  const { call_id, planned } = call;
  const due = planned?.arguments_digest ?? 'none';
  if (due !== event.arguments_digest) {
    return { message: `the answer to "${call_id}" is about the arguments ${event.arguments_digest}, not ${due}` };
  }
  if (event.kind === 'user.custom_tool_result') {
    const custom = planned?.executor.kind === 'custom';
    return custom ? null : { message: `a person fulfils "${call_id}", which a bridge runs` };
  }
  if (!call.asks) return { message: `"${call_id}" is answered, but asks no one` };
  const decidedAt = call.result?.position ?? call.allowedAt;
  if (decidedAt === null) return null;
  return { against: decidedAt, message: `"${call_id}" is answered, but waits for no answer any more` };
}

/** A call that asks a person begins, or returns something, only with a permission on record. */
function checkPermission(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call } = judged;
  const { event, before } = folded;
  if (batch === null || call === null || call.result !== null || !isWork(event)) return [];
  const { planned, asks, allowedAt, running, call_id } = call;
  if (event.kind === 'ToolCallSettled' && running) return [];
  if (asks && allowedAt === null) {
    const does = event.kind === 'ToolCallStarted' ? 'begins' : 'has an outcome';
    return broken(judged, batch.openedAt, `"${call_id}" ${does}, but no one has answered the question about it`);
  }
  const byPerson = planned?.executor.kind === 'custom' && before.consent !== undefined;
  if (!byPerson || event.kind === 'user.custom_tool_result') return [];
  return broken(judged, batch.openedAt, `a bridge reports "${call_id}", which a person fulfils`);
}

/** An answer names the preview that the call has, and a call that it allowed changed its files as they were in the preview. */
function checkPreviewed(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call } = judged;
  const { event } = folded;
  if (batch === null || call === null || call.result !== null) return [];
  const { call_id, preview, named } = call;
  if (event.kind === 'user.tool_confirmation' && event.preview !== undefined && event.preview !== preview?.digest) {
    const due = preview?.digest ?? 'none';
    const message = `the answer to "${call_id}" names the preview ${event.preview}, not ${due}`;
    return broken(judged, preview?.position ?? batch.openedAt, message);
  }
  if (event.kind !== 'ToolCallSettled' || named === null) return [];
  const seen = new Map(named.files.map(({ path, before }) => [path, before]));
  return (event.changes ?? []).flatMap(({ path, before }) => {
    const was = seen.get(path);
    // What was not kept cannot be compared.
    if (was === undefined || (before !== null && !('ref' in before)) || was === (before?.ref ?? null)) return [];
    const message = `"${call_id}" changed ${path}, which was not as in the preview with which a person allowed the call`;
    return broken(judged, named.position, message);
  });
}

/** A call that runs as approved with other arguments is one that a person gave. */
function checkAmended(judged: LawCase): readonly LawBreach[] {
  const { folded, reading } = judged;
  const { after, position } = folded;
  const opened = after.active_tool_batch;
  if (opened === null || opened.batch_id === reading.open?.batch_id) return [];
  const given = new Map(reading.amended.map((call) => [call.call_id, call]));
  const observed = new Map(opened.observed.map((call) => [call.call_id, call]));
  return opened.plan.planned_calls.flatMap((planned) => {
    if (planned.consent?.reasons.includes('approved_with_changes') !== true) return [];
    const [ofPerson, made] = [given.get(planned.call_id), observed.get(planned.call_id)];
    if (ofPerson !== undefined && made !== undefined && canonicalText(ofPerson) === canonicalText(made)) return [];
    const against = reading.open?.openedAt ?? position;
    const message = `"${planned.call_id}" runs as approved with other arguments, but no person gave it so in this place`;
    return [breachOf('answered_by_digest', judged, { against, message, call: planned })];
  });
}
