// One call as lines of text, for `refold explain --call`.
import { paint } from './paint.ts';
import { shownArguments } from '../../schemas/tool-call.ts';
import type { Claim } from '../../schemas/tool-call.ts';
import type { Conflict } from '../../reducers/conflict.ts';
import type { CallExplanation, PlannedPlace, WaitedFor } from '../core/explain-call.ts';
import { clipJson } from './clip-json.ts';
import { describeMoment } from './describe.ts';

const WIDTH = 100;

export function callLines(explanation: CallExplanation): readonly string[] {
  const { call, index, run_id, turn, batch_id, plan_hash, observed, rejected, planned, status } = explanation;
  return [
    `${paint.bold(call.call_id)}  ${paint.bold(call.tool_name)}  ${coloured(status)}`,
    `  made       as call ${index + 1} of turn ${turn} of ${run_id}, ${describeMoment(observed)}`,
    `  batch      ${batch_id === null ? 'none: the turn ended the run' : `${batch_id} ${paint.dim(plan_hash ?? '')}`}`,
    `  arguments  ${describeArguments(call)}`,
    `  tool       ${describeTool(explanation)}`,
    ...(rejected === null ? [] : [`  rejected   ${paint.yellow(rejected.code)}: ${rejected.message}`]),
    ...(planned === null ? [] : planLines(planned)),
    ...consentLines(explanation),
    ...lifeLines(explanation),
  ];
}

const coloured = (status: CallExplanation['status']): string =>
  status === 'succeeded'
    ? paint.green(status)
    : status === 'queued' || status === 'running' || status === 'waiting'
      ? paint.cyan(status)
      : paint.red(status);

const describeArguments = (call: CallExplanation['call']): string => clipJson(shownArguments(call), WIDTH);

function describeTool({ tool }: CallExplanation): string {
  if (tool === null) return 'no tool had this name';
  const { tool_id, effective, reasons, offered } = tool;
  const shown = offered ? 'it was offered to the model' : 'it was not offered to the model';
  return `${tool_id} was ${effective ? 'in' : 'out'} (${reasons.join(', ')}); ${shown}`;
}

function planLines({ group, groups, parallel_safe, claims, waited_for }: PlannedPlace): readonly string[] {
  const why =
    waited_for.length === 0
      ? 'it waited for no other call'
      : `it follows group ${Math.max(...waited_for.map((wait) => wait.group)) + 1}, the last group that it waited for`;
  const claimed = parallel_safe
    ? claims.map((claim) => describeClaim(claim)).join(', ') || 'nothing'
    : 'everything: its tool is not parallel-safe';
  return [
    `  group      ${group + 1} of ${groups}: ${why}`,
    `  claims     ${claimed}`,
    ...waited_for.map((wait) => `  waited for ${describeWait(wait)}`),
  ];
}

const describeClaim = ({ key, access }: Claim): string => `${access} ${key}`;

function describeWait({ call_id, tool_name, group, conflict, settled }: WaitedFor): string {
  const state = settled === null ? 'not settled yet' : `settled at position ${settled.position}`;
  const why = conflict === null ? '' : `: ${describeConflict(conflict)}`;
  return `${paint.bold(call_id)} (${tool_name}, group ${group + 1}, ${state})${why}`;
}

export function describeConflict(conflict: Conflict): string {
  if (conflict.kind === 'claims') {
    return `that call claims ${describeClaim(conflict.earlier)}, this one ${describeClaim(conflict.later)}`;
  }
  const who =
    conflict.earlier && conflict.later ? 'neither call is' : conflict.earlier ? 'that call is not' : 'this call is not';
  return `${who} parallel-safe`;
}

/** Whether a person was asked, and each answer. */
function consentLines({ consent, confirmations, status }: CallExplanation): readonly string[] {
  const asked =
    consent === null
      ? []
      : [
          `  consent    ${consent.ask === 'person' ? 'a person was asked' : 'no person was asked'}: ${whyAsked(consent)}`,
        ];
  const open =
    consent?.ask === 'person' && status === 'waiting' && confirmations.length === 0
      ? ['  approval   not answered yet']
      : [];
  return [
    ...asked,
    ...confirmations.map((confirmation) => `  approval   ${describeConfirmation(confirmation)}`),
    ...open,
  ];
}

const whyAsked = ({ mode, reasons }: NonNullable<CallExplanation['consent']>): string =>
  `${reasons.join(', ')} ${paint.dim(`(mode ${mode})`)}`;

function describeConfirmation(confirmation: CallExplanation['confirmations'][number]): string {
  const { result, by, message, granted, instead } = confirmation;
  const word = result === 'allow' ? paint.green('allowed') : paint.red('denied');
  const more = [
    ...(granted ? ['and later calls of its kind'] : []),
    ...(instead === null ? [] : [`replaced by ${instead}`]),
    ...(message === null ? [] : [`“${message}”`]),
  ].join(', ');
  return `${word} by ${by ?? 'an unnamed person'}, ${describeMoment(confirmation)}${more === '' ? '' : `: ${more}`}`;
}

/** From the start of the call to the result that the model received. */
function lifeLines(explanation: CallExplanation): readonly string[] {
  const { rejected, planned, starts, settled, answered } = explanation;
  const unrecorded =
    rejected === null && starts.length === 0 && settled !== null && settled.by === 'ToolCallSettled'
      ? [
          `  started    not recorded${planned?.read_only === true ? ': not required, because the tool is read-only' : ''}`,
        ]
      : [];
  return [
    ...attemptLines(explanation),
    ...unrecorded,
    ...(rejected === null ? [describeSettled(settled), ...toldLines(settled)] : []),
    `  answered   ${answered === null ? 'not yet' : `the model received the result at ${describeMoment(answered)}`}`,
  ];
}

/** What happened in its attempts, in the order of the record. */
function attemptLines({ starts, losses, notes, questions }: CallExplanation): readonly string[] {
  const lines: readonly Line[] = [
    ...starts.map((start): Line => [
      start.position,
      `  started    ${describeMoment(start)} by ${start.owner}, attempt ${start.attempt}`,
    ]),
    ...losses.map((loss): Line => [loss.position, describeLoss(loss)]),
    ...notes.map((note): Line => [
      note.position,
      `  noted      ${describeMoment(note)}: its work outside is ${clipJson(note.handle, WIDTH)}, attempt ${note.attempt}`,
    ]),
    ...questions.flatMap(questionLines),
  ];
  return lines.toSorted(([a], [b]) => a - b).map(([, line]) => line);
}

function describeLoss(loss: CallExplanation['losses'][number]): string {
  const { why, attempt } = loss;
  return why === 'lost'
    ? `  lost       ${describeMoment(loss)}: attempt ${attempt} was lost with its bridge; the call runs again`
    : `  failed     ${describeMoment(loss)}: attempt ${attempt} failed for a transient reason; the call runs again`;
}

type Line = readonly [position: number, line: string];

function questionLines(question: CallExplanation['questions'][number]): readonly Line[] {
  const { asked, attempt, ended, position } = question;
  const from = asked.from === undefined ? '' : `for ${clipJson(asked.from, WIDTH)}, `;
  const url = asked.url === undefined ? '' : `, to look at ${asked.url}`;
  const what = `${from}${describeMoment(question)}, attempt ${attempt}: ${clipJson(asked.message, WIDTH)}${url}`;
  const end: Line = ended === null ? [position, '  reply      not yet'] : [ended.position, describeEnd(ended)];
  return [[position, `  question   ${what}`], end];
}

function describeEnd(ended: NonNullable<CallExplanation['questions'][number]['ended']>): string {
  const { action, by, content, with: kind } = ended;
  const isAnswer = kind === 'user.elicitation_result';
  const what = action === null ? 'none' : paint.bold(action);
  const who = isAnswer ? ` by ${by ?? 'an unnamed person'}` : ` with ${kind}`;
  return `  reply      ${what}${who}, ${describeMoment(ended)}${content === null ? '' : `: ${clipJson(content, WIDTH)}`}`;
}

/** What the result tells people. Each is one line, however long. */
function toldLines(settled: CallExplanation['settled']): readonly string[] {
  const { message, error, nextAction } = settled?.told ?? {};
  return [
    ...(message === undefined ? [] : [`  message    ${message}`]),
    ...(error === undefined ? [] : [`  error      ${error}`]),
    ...(nextAction === undefined ? [] : [`  next       ${nextAction}`]),
  ];
}

function describeSettled(settled: CallExplanation['settled']): string {
  if (settled === null) return '  settled    not yet';
  const { status, code, by, attempt, duration_ms } = settled;
  const took = duration_ms === null ? '' : `, ${duration_ms} ms`;
  const how = code === null ? status : `${status} (${code})`;
  return `  settled    ${describeMoment(settled)} by ${by}: ${how}, attempt ${attempt}${took}`;
}
