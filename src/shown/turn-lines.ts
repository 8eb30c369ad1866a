// One turn of the model as lines of text, for `refold explain --turn`.
import { paint } from './paint.ts';
import type { StopReason } from '../../schemas/model-turn.ts';
import type { TurnAnswer, TurnExplanation, TurnFailure } from '../core/explain-turn.ts';
import { compactionLines } from './compaction-lines.ts';
import { describeMoment, describeUsage } from './describe.ts';

export function turnLines({
  run_id,
  turn,
  began,
  compaction,
  failures,
  answer,
  ending,
}: TurnExplanation): readonly string[] {
  return [
    `${paint.bold(`turn ${turn}`)} of ${run_id}`,
    `  began      ${describeMoment(began)}`,
    ...(compaction === null ? [] : compactionLines(compaction)),
    ...failures.map((failure) => `  failed     ${describeFailure(failure)}`),
    ...(answer === null ? ['  answered   not in this turn'] : answerLines(answer)),
    ...(ending === null ? [] : [`  run        ${describeEnding(ending)}`]),
  ];
}

const describeFailure = (failure: TurnFailure): string =>
  `${describeMoment(failure)}: ${paint.yellow(failure.code)}: ${failure.message}${failure.again ? '; the model is asked again in this turn' : ''}`;

function answerLines(answer: TurnAnswer): readonly string[] {
  const { stop, layout, usage, calls, has_text } = answer;
  const made = calls === 0 ? 'no calls' : `${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const word = stop?.word === undefined ? '' : ` ("${stop.word}")`;
  return [
    `  answered   ${describeMoment(answer)}: ${has_text ? 'text' : 'no text'}, ${made}`,
    `  stopped    ${stop === null ? 'the bridge did not say why' : `${paint.bold(stop.reason)}${word}: ${STOPS[stop.reason]}`}`,
    layout === null
      ? '  layout     none: text and calls are the whole turn'
      : `  layout     kept for ${paint.bold(layout.api)}, model ${layout.model}, ${layout.bytes} bytes; no other API is sent it`,
    ...(usage === null ? [] : [`  tokens     ${describeUsage(usage)}`]),
  ];
}

const STOPS: Readonly<Record<StopReason, string>> = {
  end: 'the model was done',
  calls: 'it waits for the results of its calls',
  length: 'the limit of output tokens cut the answer',
  refusal: 'the model refused',
  filtered: 'a filter of the provider withheld the answer',
  paused: 'a long turn that goes on in the next one',
  other: 'for a reason that refold does not know',
};

function describeEnding({ outcome, code, message }: NonNullable<TurnExplanation['ending']>): string {
  const how = outcome === 'completed' ? paint.green(outcome) : paint.red(outcome);
  return `${how}${code === null ? '' : ` (${code})`}${message === null ? '' : `: ${message}`}`;
}
