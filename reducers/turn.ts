// What the model brought: an answer, whose calls open a batch and which otherwise ends the run, a summary, or a failure.
import type { EventOfKind } from '../schemas/event.ts';
import type { StopReason } from '../schemas/model-turn.ts';
import type { RunState, Usage } from '../schemas/run.ts';
import { invariant } from '../schemas/rejection.ts';
import type { SessionState, TranscriptState } from '../schemas/state.ts';
import { openBatch } from './batch.ts';
import { canCompact, noteTokens, replacePages } from './compaction.ts';
import { type NextState, editRun, inOrder, liveRun } from './next-state.ts';
import { guardRepeats } from './repeat-guard.ts';
import { retryDelay } from './retry.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type CodedText, type RuleSet, codedText, errorText, ruleText } from './rules/rule-set.ts';
import { COMPLETED, beginTurn, endRun, failure, isPaused, takeSteers, withoutRetry } from './run.ts';
import { append, assistantEntry, refusalEntries } from './transcript.ts';

export function observeCalls(next: NextState, event: EventOfKind<'ToolCallsObserved'>, state: SessionState): void {
  if (!isEmptyAnswer(event)) append(next, [assistantEntry(event)]);
  const before = liveRun(state);
  const usage = event.usage === undefined ? before.usage : addUsage(before.usage, event.usage);
  noteTokens(next, event.usage, before.config.context);
  if (event.calls.length === 0) {
    next.run = { ...withoutRetry(before), usage };
    endTurn(next, event);
    return;
  }
  const rules = rulesOf(state);
  const guard = guardRepeats(rules, event.calls, before.repeat, before.config.repeats_max);
  const calls = before.calls + event.calls.length;
  const run: RunState = { ...withoutRetry(before), calls, repeat: guard.repeat, usage };
  const stop = guard.exhausted
    ? codedText(rules, 'repeated_call.again', {})
    : calls > run.config.calls_max
      ? codedText(rules, 'calls_exceeded', { max: run.config.calls_max })
      : tokensExceeded(rules, run);
  if (stop !== null) {
    next.run = run;
    const message = ruleText(rules, 'not_run', { why: stop.message });
    append(next, refusalEntries(event.calls, errorText(rules, { code: stop.code, message })));
    endRun(next, failure(stop), event.at_ms);
    return;
  }
  openBatch(next, state, { calls: event.calls, atMs: event.at_ms, refused: guard.refused });
  next.run = { ...run, phase: isPaused(run.phase) ? 'paused_executing' : 'executing' };
}

/** An answer without text, calls and parts leaves no message. Bridges that do not say why the model stopped leave one. */
const isEmptyAnswer = ({ stop, content, calls, layout }: EventOfKind<'ToolCallsObserved'>): boolean =>
  stop !== undefined && content === undefined && calls.length === 0 && layout === undefined;

/** Sums, limited to the safe integers, because a provider may report any number. A count that neither states is absent. */
function addUsage(a: Usage, b: Usage): Usage {
  const sum = (x = 0, y = 0): number => Math.min(x + y, Number.MAX_SAFE_INTEGER);
  const either = (key: keyof Usage) =>
    a[key] === undefined && b[key] === undefined ? {} : { [key]: sum(a[key], b[key]) };
  return {
    ...either('cache_write_tokens'),
    ...either('cached_tokens'),
    input_tokens: sum(a.input_tokens, b.input_tokens),
    output_tokens: sum(a.output_tokens, b.output_tokens),
    ...either('reasoning_tokens'),
  };
}

function tokensExceeded(rules: RuleSet, { usage, config }: RunState): CodedText | null {
  const limit = config.tokens_max;
  if (limit === null || usage.input_tokens + usage.output_tokens <= limit) return null;
  return codedText(rules, 'tokens_exceeded', { max: limit });
}

/**
 * A generate failed: it is owed again after a wait when the fault may be temporary, and once after a compaction when the
 * conversation is too long; otherwise the run ends.
 */
export function failGenerate(next: NextState, event: EventOfKind<'GenerateFailed'>): void {
  const run = liveRun(next);
  if (event.code === 'context_length' && mayCompact(run, next.transcript)) {
    beginTurn(next, event.at_ms, 'context_length');
    return;
  }
  const failures = (run.retry?.failures ?? 0) + 1;
  const wait = retryDelay(run.config.retry, failures, event);
  if (wait === null) endRun(next, failure(event), event.at_ms);
  else {
    editRun(next, (draft) => {
      draft.retry = { failures, not_before_ms: event.at_ms + wait };
    });
  }
}

const mayCompact = ({ config, compact, turn }: RunState, transcript: TranscriptState): boolean =>
  (config.context ?? null) !== null &&
  compact?.cause !== 'context_length' &&
  turn < config.turns_max &&
  canCompact(transcript, 'context_length');

/** The summary replaces the pages, and the generate of the turn becomes owed. */
export function compactContext(next: NextState, event: EventOfKind<'ContextCompacted'>): void {
  const run = liveRun(next);
  replacePages(next, event);
  const usage = event.usage === undefined ? run.usage : addUsage(run.usage, event.usage);
  goOn({ ...run, usage }, next, event.at_ms);
}

/**
 * The conversation could not be compacted. When the fault may be temporary it is tried again after a wait. Otherwise the
 * generate goes on without, and the run fails when the conversation is too long for that.
 */
export function failCompact(next: NextState, event: EventOfKind<'CompactFailed'>): void {
  const run = liveRun(next);
  const failures = (run.retry?.failures ?? 0) + 1;
  const wait = retryDelay(run.config.retry, failures, event);
  if (wait !== null) {
    next.run = inOrder({ ...run, retry: { failures, not_before_ms: event.at_ms + wait } });
  } else if (run.compact?.cause === 'context_length') {
    endRun(next, failure(codedText(rulesOf(next), 'context_length', { code: event.code })), event.at_ms);
  } else {
    noteTokens(next, undefined, null);
    goOn(run, next, event.at_ms);
  }
}

/** Makes the generate owed after its compaction, with the steers that came meanwhile. */
function goOn({ compact, ...run }: RunState, next: NextState, atMs: number): void {
  invariant(compact !== undefined, 'a compaction was owed');
  next.run = inOrder({ ...withoutRetry(run), compact: { ...compact, answered: true } });
  const stop = tokensExceeded(rulesOf(next), next.run);
  if (stop !== null) endRun(next, failure(stop), atMs);
  else if (run.phase === 'generating') takeSteers(next);
}

// A turn without calls ends the run, unless steers arrived meanwhile or the model only paused. An answer that exceeded the
// token budget is still accepted; only a further turn is refused. A turn that the model did not finish fails the run, and
// its output is kept.
function endTurn(next: NextState, event: EventOfKind<'ToolCallsObserved'>): void {
  const run = liveRun(next);
  const output = event.content ?? null;
  const broken = event.stop === undefined ? undefined : BROKEN_STOPS[event.stop.reason];
  const goesOn = run.steers.length > 0 || event.stop?.reason === 'paused';
  const stop = goesOn ? tokensExceeded(rulesOf(next), run) : null;
  if (broken !== undefined) endRun(next, { ...failure(codedText(rulesOf(next), broken, {})), output }, event.at_ms);
  else if (stop !== null) endRun(next, failure(stop), event.at_ms);
  else if (goesOn) beginTurn(next, event.at_ms);
  else endRun(next, { ...COMPLETED, output }, event.at_ms);
}

/** The stops after which a turn without calls is no answer, and the texts that say so. */
const BROKEN_STOPS: Partial<Readonly<Record<StopReason, BrokenStop>>> = {
  length: 'output_truncated',
  filtered: 'content_filtered',
  refusal: 'model_refused',
};

type BrokenStop = 'output_truncated' | 'content_filtered' | 'model_refused';
