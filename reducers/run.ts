// The run loop: request, generate, batch, generate again, end (P7 "Run/Turn Loop Ownership"). Each function folds one
// kind of event; whether the event is allowed at all is admission's work.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Draft, current, isDraft } from 'immer';
import type { EventOfKind } from '../schemas/event.ts';
import { brand } from '../schemas/ids.ts';
import { RUN_HISTORY_MAX } from '../schemas/limits.ts';
import { type Rejection, invariant, reject } from '../schemas/rejection.ts';
import type { FollowUp, RunCause, RunConfig, RunEnding, RunPhase, RunRecord, RunState } from '../schemas/run.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import { NO_OVERRIDES, type ToolOverrides } from '../schemas/tool-set.ts';
import { cancelCalls, openBatch, terminalResult } from './batch.ts';
import { detachCalls } from './detached.ts';
import { computeEffectiveTools } from './effective-tools.ts';
import { guardRepeats } from './repeat-guard.ts';
import { retryDelay } from './retry.ts';
import { append, assistantEntry, refusalEntries, resultEntries, userEntry } from './transcript.ts';

type State = Draft<SessionState>;
type Run = Draft<RunState>;

/** The config a run starts with: the session's, changed field by field. */
export const configFor = (state: SessionState, request: Pick<FollowUp, 'run_overrides'>): RunConfig => ({
  ...state.config,
  ...request.run_overrides,
});

/** A run must name whom it asks; the path points into its config. */
export function findConfigFault({ provider, model }: RunConfig): Rejection | null {
  if (provider.trim() === '') return reject('provider_missing', '/provider', 'it is empty');
  return model.trim() === '' ? reject('model_missing', '/model', 'it is empty') : null;
}

export function startRun(draft: State, request: FollowUp, cause: RunCause, atMs: number): void {
  draft.runs_started += 1;
  append(draft, [userEntry(request.input)]);
  draft.tool_overrides.run = (request.tools ?? NO_OVERRIDES) as Draft<ToolOverrides>;
  const config: RunConfig = { ...draft.config, ...request.run_overrides };
  const run: RunState = {
    run_id: brand<'RunId'>(`run-${draft.runs_started}`),
    phase: 'opening',
    cause,
    config,
    turn: 0,
    calls: 0,
    usage: { input_tokens: 0, output_tokens: 0 },
    offer: null,
    steers: [],
    repeat: { tool_name: null, arguments_digest: null, count: 0 },
    ending: null,
    started_at_ms: atMs,
  };
  draft.run = run as Run;
  const ready = draft.tool_runtime_context.host_session_status === 'ready';
  if (!config.host_session_open || ready) beginTurn(draft, atMs);
}

/** Makes the next generate owed; waiting steers enter it. Ends the run instead when its turns are used up. */
export function beginTurn(draft: State, atMs: number): void {
  const run = liveRun(draft);
  if (run.turn >= run.config.turns_max) {
    endRun(draft, failure('turns_exceeded', `the run reached its maximum of ${run.config.turns_max} turns`), atMs);
    return;
  }
  takeSteers(draft);
  delete run.retry;
  run.turn += 1;
  run.offer = null;
  run.phase = isPaused(run.phase) ? 'paused_generating' : 'generating';
}

/** What was steered enters the conversation, and so the generate that is owed next. */
function takeSteers(draft: State): void {
  const run = liveRun(draft);
  if (run.steers.length === 0) return;
  append(
    draft,
    run.steers.map((steer) => userEntry(steer)),
  );
  run.steers = [];
}

export function observeCalls(draft: State, event: EventOfKind<'ToolCallsObserved'>, state: SessionState): void {
  const run = liveRun(draft);
  append(draft, [assistantEntry(event.content, event.calls)]);
  delete run.retry;
  if (event.usage !== undefined) {
    run.usage.input_tokens = addCapped(run.usage.input_tokens, event.usage.input_tokens);
    run.usage.output_tokens = addCapped(run.usage.output_tokens, event.usage.output_tokens);
  }
  if (event.calls.length === 0) {
    endTurn(draft, event);
    return;
  }
  run.calls += event.calls.length;
  const guard = guardRepeats(event.calls, run.repeat, run.config.repeats_max);
  run.repeat = guard.repeat;
  const stop = guard.exhausted
    ? failure('repeated_call', 'the model made the same call again after it was told to stop')
    : run.calls > run.config.calls_max
      ? failure('calls_exceeded', `the run reached its maximum of ${run.config.calls_max} calls`)
      : tokensExceeded(run);
  if (stop !== null) {
    append(draft, refusalEntries(event.calls, `error: ${stop.code}: not run, ${stop.message}`));
    endRun(draft, stop, event.at_ms);
    return;
  }
  openBatch(draft, state, { calls: event.calls, atMs: event.at_ms, refused: guard.refused });
  run.phase = isPaused(run.phase) ? 'paused_executing' : 'executing';
}

function tokensExceeded({ usage, config }: RunState): RunEnding | null {
  const limit = config.tokens_max ?? null;
  if (limit === null || usage.input_tokens + usage.output_tokens <= limit) return null;
  return failure('tokens_exceeded', `the run used more than its ${limit} tokens`);
}

/** A generate gave no answer: it is owed again after a while when the fault may pass, and ends the run otherwise. */
export function failGenerate(draft: State, event: EventOfKind<'GenerateFailed'>): void {
  const run = liveRun(draft);
  const failures = (run.retry?.failures ?? 0) + 1;
  const wait = retryDelay(run.config.retry, failures, event);
  if (wait === null) endRun(draft, failure(event.code, event.message), event.at_ms);
  else run.retry = { failures, not_before_ms: event.at_ms + wait };
}

// A turn without calls is the model's last word, unless somebody has steered meanwhile. An answer that took more than
// the budget is an answer all the same; only a further turn is refused.
function endTurn(draft: State, event: EventOfKind<'ToolCallsObserved'>): void {
  const run = liveRun(draft);
  const stop = run.steers.length > 0 ? tokensExceeded(run) : null;
  if (stop !== null) endRun(draft, stop, event.at_ms);
  else if (run.steers.length > 0) beginTurn(draft, event.at_ms);
  else endRun(draft, { ...COMPLETED, output: event.content ?? null }, event.at_ms);
}

/** The batch is over: every call's result goes to the model, in call order. */
export function settleBatch(draft: State, event: EventOfKind<'ToolBatchSettled'>, state: SessionState): void {
  const batch = state.active_tool_batch;
  invariant(batch !== null, 'no batch is open');
  append(draft, resultEntries(batch));
  draft.active_tool_batch = null;
  const terminal = terminalResult(batch);
  const amended = state.run?.amended ?? [];
  if (terminal === null && amended.length > 0) openAmended(draft, state, amended, event.at_ms);
  else if (terminal === null) beginTurn(draft, event.at_ms);
  else if (terminal.failed) endRun(draft, failure('terminal_result', 'a call ended the run'), event.at_ms);
  else endRun(draft, COMPLETED, event.at_ms);
}

// What a person approved with other arguments is a call of its own, which the model reads as if it had made it.
function openAmended(draft: State, state: SessionState, calls: readonly ToolCallObserved[], atMs: number): void {
  append(draft, [assistantEntry(undefined, calls)]);
  const run = liveRun(draft);
  delete run.amended;
  run.calls += calls.length;
  openBatch(draft, state, { calls, atMs, amended: true });
}

/** A person changes direction: what waits is not started, and the run goes on with what they said, or ends. */
export function interruptRun(draft: State, event: EventOfKind<'user.interrupt'>, state: SessionState): void {
  if (event.input !== undefined) liveRun(draft).redirect = event.input;
  beginEnding(draft, state, { phase: 'interrupting', ending: endedBy('interrupted', event.reason) }, event.at_ms);
}

export function pauseRun(draft: State): void {
  const run = liveRun(draft);
  run.phase = PAUSED[run.phase] ?? run.phase;
}

export function resumeRun(draft: State): void {
  const run = liveRun(draft);
  run.phase = RESUMED[run.phase] ?? run.phase;
  // Paused between two turns: the generate becomes owed only now.
  if (run.phase === 'generating' && run.offer === null) takeSteers(draft);
}

/** Starts no further call, and ends the run once the running ones have settled: at once when there are none. */
export function beginEnding(
  draft: State,
  state: SessionState,
  to: { readonly phase: 'interrupting' | 'cancelling'; readonly ending: RunEnding },
  atMs: number,
): void {
  if (to.phase === 'cancelling') delete liveRun(draft).redirect;
  if (state.active_tool_batch !== null) {
    if (to.phase === 'interrupting') detachCalls(draft, state);
    cancelCalls(draft, state, `error: cancelled: not run, the run was ${to.ending.outcome}`);
    if ((draft.active_tool_batch?.running ?? 0) > 0) {
      const run = liveRun(draft);
      run.phase = to.phase;
      run.ending = to.ending;
      return;
    }
  }
  endOrRedirect(draft, to.ending, atMs);
}

/** Ends a run that only waited for its running calls. */
export function finishEnding(draft: State, atMs: number): void {
  const { ending } = liveRun(draft);
  if (ending !== null && draft.active_tool_batch?.running === 0) endOrRedirect(draft, plain(ending), atMs);
}

function endOrRedirect(draft: State, ending: RunEnding, atMs: number): void {
  const run = liveRun(draft);
  const { redirect } = run;
  if (redirect === undefined) {
    endRun(draft, ending, atMs);
    return;
  }
  closeBatch(draft);
  // What was steered before was said before.
  takeSteers(draft);
  append(draft, [userEntry(plain(redirect))]);
  delete run.redirect;
  delete run.amended;
  run.ending = null;
  // Before its first turn a run still waits for its host session; a redirected one is paused no more.
  run.phase = run.phase === 'opening' || run.phase === 'paused_opening' ? 'opening' : 'generating';
  if (run.phase === 'generating') beginTurn(draft, atMs);
}

/** Ends the run. An open batch is closed with a result for each of its calls; a waiting follow-up starts. */
export function endRun(draft: State, ending: RunEnding, atMs: number): void {
  closeBatch(draft);
  recordRun(draft, ending, atMs);
  // Whoever cancels a run, or sees it fail, decides anew; otherwise what was queued goes on.
  if (ending.outcome !== 'completed' && ending.outcome !== 'interrupted') return;
  startFollowUp(draft, atMs);
}

function closeBatch(draft: State): void {
  if (draft.active_tool_batch === null) return;
  append(draft, resultEntries(plain(draft.active_tool_batch)));
  draft.active_tool_batch = null;
}

// The registry may have changed since a follow-up was queued: one that fits no longer is recorded as a failed run.
function startFollowUp(draft: State, atMs: number): void {
  while (draft.run === null) {
    const [next, ...rest] = current(draft).follow_ups;
    if (next === undefined) return;
    draft.follow_ups = rest as Draft<FollowUp>[];
    const state = current(draft);
    const tool_overrides = { ...state.tool_overrides, run: next.tools ?? NO_OVERRIDES };
    const config = configFor(state, next);
    const tools = computeEffectiveTools({ ...state, run: { config }, tool_overrides });
    const fault = findConfigFault(config) ?? (isLeft(tools) ? tools.left : null);
    startRun(draft, next, { kind: 'follow_up' }, atMs);
    if (fault === null) return;
    recordRun(draft, failure(fault.code, fault.message), atMs);
  }
}

function recordRun(draft: State, ending: RunEnding, atMs: number): void {
  const { run_id, cause, turn, calls, usage, started_at_ms } = plain(liveRun(draft));
  const record: RunRecord = { run_id, ending, cause, turn, calls, usage, started_at_ms, ended_at_ms: atMs };
  draft.run_history.push(record);
  if (draft.run_history.length > RUN_HISTORY_MAX) draft.run_history.shift();
  draft.run = null;
  draft.tool_overrides.run = NO_OVERRIDES as Draft<ToolOverrides>;
}

export const failure = (code: string, message: string): RunEnding => ({
  outcome: 'failed',
  code,
  message,
  output: null,
});

export const COMPLETED: RunEnding = { outcome: 'completed', code: null, message: null, output: null };

export const endedBy = (outcome: 'interrupted' | 'cancelled', reason: string | undefined): RunEnding => ({
  outcome,
  code: null,
  message: reason ?? null,
  output: null,
});

const PAUSED: Partial<Readonly<Record<RunPhase, RunPhase>>> = {
  opening: 'paused_opening',
  generating: 'paused_generating',
  executing: 'paused_executing',
};

const RESUMED: Partial<Readonly<Record<RunPhase, RunPhase>>> = {
  paused_opening: 'opening',
  paused_generating: 'generating',
  paused_executing: 'executing',
};

// What was assigned in this very event is plain already; what was there before is a draft.
const plain = <T extends object>(value: T): T => (isDraft(value) ? (current(value as never) as T) : value);

/** A provider may count as it likes; what it says must not leave the safe integers. */
const addCapped = (a: number, b: number): number => Math.min(a + b, Number.MAX_SAFE_INTEGER);

const isPaused = (phase: RunPhase): boolean => phase.startsWith('paused_');

function liveRun(draft: State): Run {
  invariant(draft.run !== null, 'no run is active');
  return draft.run;
}
