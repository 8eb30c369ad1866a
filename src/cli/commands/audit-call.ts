// One call in words, for `refold explain --call`.
import pc from 'picocolors';
import type { Claim } from '../../../schemas/tool-call.ts';
import type { Conflict } from '../../../reducers/conflict.ts';
import type { CallExplanation, PlannedPlace, WaitedFor } from '../../core/explain-call.ts';
import type { Moment } from '../../core/explain-confirmation.ts';
import { clipJson } from './audit-source.ts';

const WIDTH = 100;

export function callLines(explanation: CallExplanation): readonly string[] {
  const { call, index, run_id, turn, batch_id, plan_hash, observed, rejected, planned, status } = explanation;
  return [
    `${pc.bold(call.call_id)}  ${pc.bold(call.tool_name)}  ${coloured(status)}`,
    `  made       as call ${index} of turn ${turn} of ${run_id}, ${momentInWords(observed)}`,
    `  batch      ${batch_id === null ? 'none: the turn ended the run' : `${batch_id} ${pc.dim(plan_hash ?? '')}`}`,
    `  arguments  ${argumentsInWords(call)}`,
    `  tool       ${toolInWords(explanation)}`,
    ...(rejected === null ? [] : [`  rejected   ${pc.yellow(rejected.code)}: ${rejected.message}`]),
    ...(planned === null ? [] : planLines(planned)),
    ...consentLines(explanation),
    ...lifeLines(explanation),
  ];
}

const coloured = (status: CallExplanation['status']): string =>
  status === 'succeeded'
    ? pc.green(status)
    : status === 'queued' || status === 'running' || status === 'waiting'
      ? pc.cyan(status)
      : pc.red(status);

const momentInWords = ({ position, at_ms }: Moment): string =>
  `position ${position} ${pc.dim(new Date(at_ms).toISOString())}`;

function argumentsInWords({ arguments: args, arguments_text, arguments_ref }: CallExplanation['call']): string {
  return clipJson(args ?? arguments_text ?? arguments_ref ?? {}, WIDTH);
}

function toolInWords({ tool }: CallExplanation): string {
  if (tool === null) return 'no tool had this name';
  const { tool_id, effective, reasons, offered } = tool;
  const shown = offered ? 'the model was offered it' : 'the model was not offered it';
  return `${tool_id} was ${effective ? 'in' : 'out'} (${reasons.join(', ')}); ${shown}`;
}

function planLines({ group, groups, parallel_safe, claims, waited_for }: PlannedPlace): readonly string[] {
  const why =
    waited_for.length === 0
      ? 'it waited for no other call'
      : `one after the last group it waited for, group ${Math.max(...waited_for.map((wait) => wait.group))}`;
  const claimed = parallel_safe
    ? claims.map((claim) => claimInWords(claim)).join(', ') || 'nothing'
    : 'everything: its tool is not parallel-safe';
  return [
    `  group      ${group} (the last is ${groups - 1}): ${why}`,
    `  claims     ${claimed}`,
    ...waited_for.map((wait) => `  waited for ${waitInWords(wait)}`),
  ];
}

const claimInWords = ({ key, access }: Claim): string => `${access} ${key}`;

function waitInWords({ call_id, tool_name, group, conflict, settled }: WaitedFor): string {
  const over = settled === null ? 'not settled yet' : `settled at position ${settled.position}`;
  const why = conflict === null ? '' : `: ${conflictInWords(conflict)}`;
  return `${pc.bold(call_id)} (${tool_name}, group ${group}, ${over})${why}`;
}

function conflictInWords(conflict: Conflict): string {
  if (conflict.kind === 'claims') {
    return `that call claims ${claimInWords(conflict.earlier)}, this one ${claimInWords(conflict.later)}`;
  }
  const who =
    conflict.earlier && conflict.later ? 'neither call is' : conflict.earlier ? 'that call is not' : 'this call is not';
  return `${who} parallel-safe`;
}

/** Whether somebody was asked, and who said what. */
function consentLines({ consent, confirmations, status }: CallExplanation): readonly string[] {
  const asked =
    consent === null
      ? []
      : [`  consent    ${consent.ask === 'person' ? 'a person was asked' : 'nobody was asked'}: ${whyAsked(consent)}`];
  const open = consent?.ask === 'person' && status === 'waiting' ? ['  approval   nobody has answered yet'] : [];
  return [...asked, ...confirmations.map((said) => `  approval   ${confirmationInWords(said)}`), ...open];
}

const whyAsked = ({ mode, reasons }: NonNullable<CallExplanation['consent']>): string =>
  `${reasons.join(', ')} ${pc.dim(`(mode ${mode})`)}`;

function confirmationInWords(said: CallExplanation['confirmations'][number]): string {
  const { result, by, message, granted, instead } = said;
  const word = result === 'allow' ? pc.green('allowed') : pc.red('denied');
  const more = [
    ...(granted ? ['and more of its kind'] : []),
    ...(instead === null ? [] : [`with ${instead} in its place`]),
    ...(message === null ? [] : [`“${message}”`]),
  ].join(', ');
  return `${word} by ${by ?? 'somebody who gave no name'}, ${momentInWords(said)}${more === '' ? '' : `: ${more}`}`;
}

/** From its start to the answer the model got. */
function lifeLines({ rejected, planned, starts, losses, settled, answered }: CallExplanation): readonly string[] {
  const started = starts.map(
    (start) => `  started    ${momentInWords(start)} by ${start.owner}, attempt ${start.attempt}`,
  );
  const lost = losses.map((loss) =>
    loss.why === 'lost'
      ? `  lost       ${momentInWords(loss)}: attempt ${loss.attempt} went with its bridge, so it was to run again`
      : `  failed     ${momentInWords(loss)}: attempt ${loss.attempt}, for a reason that may pass, so it was to run again`,
  );
  const unrecorded =
    rejected === null && starts.length === 0 && settled !== null && settled.by === 'ToolCallSettled'
      ? [
          `  started    not recorded${planned?.repeatable === true ? ': the tool may run twice, so it need not be' : ''}`,
        ]
      : [];
  return [
    ...started,
    ...lost,
    ...unrecorded,
    ...(rejected === null ? [settledInWords(settled)] : []),
    `  answered   ${answered === null ? 'not yet' : `the model got its result at ${momentInWords(answered)}`}`,
  ];
}

function settledInWords(settled: CallExplanation['settled']): string {
  if (settled === null) return '  settled    not yet';
  const { status, code, by, attempt, duration_ms } = settled;
  const took = duration_ms === null ? '' : `, ${duration_ms} ms`;
  const how = code === null ? status : `${status} (${code})`;
  return `  settled    ${momentInWords(settled)} by ${by}: ${how}, attempt ${attempt}${took}`;
}
