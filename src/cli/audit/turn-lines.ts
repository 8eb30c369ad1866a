// One turn of the model as lines of text, for `refold explain --turn`.
import pc from 'picocolors';
import type { StopReason } from '../../../schemas/model-turn.ts';
import type { Usage } from '../../../schemas/run.ts';
import type { Moment } from '../../core/explain-confirmation.ts';
import type { TurnAnswer, TurnCompaction, TurnExplanation, TurnFailure } from '../../core/explain-turn.ts';

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
    `${pc.bold(`turn ${turn}`)} of ${run_id}`,
    `  began      ${describeMoment(began)}`,
    ...(compaction === null ? [] : compactionLines(compaction)),
    ...failures.map((failure) => `  failed     ${describeFailure(failure, 'the model is asked again in this turn')}`),
    ...(answer === null ? ['  answered   not in this turn'] : answerLines(answer)),
    ...(ending === null ? [] : [`  run        ${describeEnding(ending)}`]),
  ];
}

/** Events count from 1, as in `--at`. */
const describeMoment = ({ position, at_ms }: Moment): string =>
  `event ${position + 1} ${pc.dim(new Date(at_ms).toISOString())}`;

function compactionLines({ owed, cause, mark, used, failures, summary }: TurnCompaction): readonly string[] {
  const why =
    cause === 'mark'
      ? `the last answer took ${used ?? 'more'} tokens, and the mark is ${mark ?? 'unknown'}`
      : 'the model said that the conversation is too long';
  const outcome =
    summary !== null
      ? [`  summary    ${describeMoment(summary)}: it stands for ${summary.entries} messages${usageOf(summary.usage)}`]
      : failures.at(-1)?.again === false
        ? ['  summary    none: the conversation stays as it was']
        : ['  summary    not yet'];
  return [
    `  compacted  because ${why}; owed since ${describeMoment(owed)}`,
    ...failures.map((failure) => `  failed     ${describeFailure(failure, 'the compaction is tried again')}`),
    ...outcome,
  ];
}

const usageOf = (usage: Usage | null): string => (usage === null ? '' : `, for ${describeUsage(usage)}`);

const describeFailure = (failure: TurnFailure, next: string): string =>
  `${describeMoment(failure)}: ${pc.yellow(failure.code)}: ${failure.message}${failure.again ? `; ${next}` : ''}`;

function answerLines(answer: TurnAnswer): readonly string[] {
  const { stop, layout, usage, calls, has_text } = answer;
  const made = calls === 0 ? 'no calls' : `${calls} ${calls === 1 ? 'call' : 'calls'}`;
  const word = stop?.word === undefined ? '' : ` ("${stop.word}")`;
  return [
    `  answered   ${describeMoment(answer)}: ${has_text ? 'text' : 'no text'}, ${made}`,
    `  stopped    ${stop === null ? 'the bridge did not say why' : `${pc.bold(stop.reason)}${word}: ${STOPS[stop.reason]}`}`,
    layout === null
      ? '  layout     none: text and calls are the whole turn'
      : `  layout     kept for ${pc.bold(layout.api)}, model ${layout.model}, ${layout.bytes} bytes; no other API is sent it`,
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
  const how = outcome === 'completed' ? pc.green(outcome) : pc.red(outcome);
  return `${how}${code === null ? '' : ` (${code})`}${message === null ? '' : `: ${message}`}`;
}

/** `1200 tokens in (1000 cached, 100 written to the cache), 80 out (20 thinking)`. */
export function describeUsage(usage: Usage): string {
  const { input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens } = usage;
  const among = (parts: readonly (readonly [count: number | undefined, what: string])[]): string => {
    const stated = parts.flatMap(([count, what]) => (count === undefined ? [] : [`${count} ${what}`]));
    return stated.length === 0 ? '' : ` (${stated.join(', ')})`;
  };
  const cached = among([
    [cached_tokens, 'cached'],
    [cache_write_tokens, 'written to the cache'],
  ]);
  return `${input_tokens} tokens in${cached}, ${output_tokens} out${among([[reasoning_tokens, 'thinking']])}`;
}
