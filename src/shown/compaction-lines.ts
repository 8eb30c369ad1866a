// One compaction as lines of text, for `refold explain --compactions` and `--turn`.
import { paint } from './paint.ts';
import type { Exchange } from '../../schemas/model-turn.ts';
import type { CompactionExplanation } from '../core/explain-compaction.ts';
import { describeMoment, describeUsage } from './describe.ts';

/** Below a line that says to which turn it belongs. */
export function compactionLines({
  owed,
  cause,
  mark,
  used,
  through,
  entries,
  failures,
  summary,
  dropped,
}: CompactionExplanation): readonly string[] {
  const why =
    cause === 'mark'
      ? `the last answer took ${used ?? 'more'} tokens, and the mark is ${mark ?? 'unknown'}`
      : 'the model said that the conversation is too long';
  return [
    `  compacted  because ${why}; owed since ${describeMoment(owed)}`,
    ...(through === null ? [] : [`  through    page ${through}: the first ${entries ?? 'unknown'} messages`]),
    ...failures.flatMap((failure) => [
      `  failed     ${describeMoment(failure)}: ${paint.yellow(failure.code)}: ${failure.message}${failure.again ? '; the compaction is tried again' : ''}`,
      ...exchangeLines(failure.exchange),
    ]),
    outcomeOf({ failures, summary, dropped }),
    ...(summary === null ? [] : exchangeLines(summary.exchange)),
  ];
}

function outcomeOf({
  failures,
  summary,
  dropped,
}: Pick<CompactionExplanation, 'dropped' | 'failures' | 'summary'>): string {
  if (summary !== null) {
    const cost = summary.usage === null ? '' : `, for ${describeUsage(summary.usage)}`;
    return `  summary    ${describeMoment(summary)}: it stands for ${summary.entries} messages${cost}`;
  }
  if (dropped !== null) return `  summary    none: ${dropped.by} ended the compaction, ${describeMoment(dropped)}`;
  return failures.at(-1)?.again === false
    ? '  summary    none: the conversation stays as it was'
    : '  summary    not yet';
}

/** What is kept of what went over the wire; nothing when the bridge recorded none. */
function exchangeLines(exchange: Exchange | null): readonly string[] {
  if (exchange === null) return [];
  const { response, response_bytes = 0, response_redacted = false, request } = exchange;
  const cut = response_redacted ? ', without a secret' : '';
  const kept =
    response === undefined
      ? `no response is kept${response_redacted ? ': it held a secret in pieces' : ''}`
      : `response ${response}, ${response_bytes} bytes${cut}`;
  return [paint.dim(`  wire       request ${request}; ${kept}`)];
}
