// The run loop: request, generate, batch, generate again, end (AOS P7, "Run/Turn Loop Ownership"). Each function folds one
// kind of event; admission has decided that the event is allowed.
import type { EventOfKind } from '../schemas/event.ts';
import { brand } from '../schemas/ids.ts';
import { type Attachments, type Content, isInline } from '../schemas/content.ts';
import { CARD_TITLE_CHARS_MAX, RUN_HISTORY_MAX } from '../schemas/limits.ts';
import { type Rejection, reject } from '../schemas/rejection.ts';
import type {
  Compaction,
  FollowUp,
  RunCause,
  RunConfig,
  RunConfigPatch,
  RunEnding,
  RunPhase,
  RunRecord,
  RunState,
} from '../schemas/run.ts';
import type { SessionState } from '../schemas/state.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import { NO_OVERRIDES } from '../schemas/tool-set.ts';
import { cancelCalls, openBatch, terminalResult } from './batch.ts';
import { owesCompaction, planCompaction } from './compaction.ts';
import { detachCalls } from './detached.ts';
import { type EffectiveToolsInput, findToolSetFault } from './effective-tools.ts';
import { type NextState, editRun, inOrder, liveRun, openBatchOf } from './next-state.ts';
import { rulesOf } from './rules/known-rules.ts';
import { type CodedText, type RuleSet, codedText } from './rules/rule-set.ts';
import { append, assistantEntry, resultEntries, userEntry } from './transcript.ts';

/** The config of a run: the session's config with the overrides of the request. */
export const configFor = (state: Pick<SessionState, 'config'>, request: Pick<FollowUp, 'run_overrides'>): RunConfig =>
  changedConfig(state.config, request.run_overrides);

/** The config with the fields of the patch; its optional fields in their place. */
export function changedConfig(config: RunConfig, patch: RunConfigPatch | undefined): RunConfig {
  const changed = { ...config, ...patch };
  return Object.keys(changed).length === Object.keys(config).length ? changed : inOrder(changed);
}

/** A run must name a provider and a model; the path points into its config. */
export function findConfigFault({ provider, model }: RunConfig): ConfigFault | null {
  const missing = (code: ConfigFault['code'], path: string) => ({ ...reject(code, path, 'it is empty'), code });
  if (provider.trim() === '') return missing('provider_missing', '/provider');
  return model.trim() === '' ? missing('model_missing', '/model') : null;
}

type ConfigFault = Rejection & { readonly code: 'provider_missing' | 'model_missing' };

export function startRun(next: NextState, request: FollowUp, cause: RunCause, atMs: number): void {
  next.runs_started += 1;
  const title = next.title ?? titleOf(request.input);
  if (title !== null) next.title = title;
  append(next, [userEntry(request.input, request.attachments)]);
  next.tool_overrides = { ...next.tool_overrides, run: request.tools ?? NO_OVERRIDES };
  const config = configFor(next, request);
  next.run = {
    calls: 0,
    cause,
    config,
    ending: null,
    offer: null,
    phase: 'opening',
    repeat: { arguments_digest: null, count: 0, tool_name: null },
    run_id: brand<'RunId'>(`run-${next.runs_started}`),
    started_at_ms: atMs,
    steers: [],
    turn: 0,
    usage: { input_tokens: 0, output_tokens: 0 },
  };
  const ready = next.tool_runtime_context.host_session_status === 'ready';
  if (!config.host_session_open || ready) beginTurn(next, atMs);
}

/**
 * The first line of an input that is not blank, as a list of sessions shows it: without control characters, cut to
 * CARD_TITLE_CHARS_MAX UTF-16 units; null when all lines are blank. Of an input in a blob, its excerpt counts.
 */
export function titleOf(input: Content): string | null {
  const text = (isInline(input) ? input.text : input.head).slice(0, TITLE_SEARCHED_CHARS);
  for (const line of text.split(/[\n\r\u2028\u2029]/)) {
    const shown = line.replaceAll(/\p{Cc}+/gu, ' ').trim();
    // Cutting may leave the first half of a surrogate pair.
    const cut = shown.slice(0, CARD_TITLE_CHARS_MAX).replace(/[\ud800-\udbff]$/, '');
    if (cut !== '') return cut;
  }
  return null;
}

/**
 * Makes the next generate owed, with the waiting steers, after a compaction if one is due. Ends the run instead when its
 * turns are used up.
 */
export function beginTurn(next: NextState, atMs: number, cause: Compaction['cause'] = 'mark'): void {
  const { config, turn, phase } = liveRun(next);
  if (turn >= config.turns_max) {
    endRun(next, failure(codedText(rulesOf(next), 'turns_exceeded', { max: config.turns_max })), atMs);
    return;
  }
  takeSteers(next);
  next.run = {
    ...withoutRetry(liveRun(next)),
    offer: null,
    phase: isPaused(phase) ? 'paused_generating' : 'generating',
    turn: turn + 1,
  };
  planCompaction(next, cause);
}

export function withoutRetry(run: RunState): RunState {
  if (run.retry === undefined) return run;
  const { retry: _retry, ...rest } = run;
  return rest;
}

/** Keeps a steer for the next generate. */
export function addSteer(next: NextState, { input, attachments }: EventOfKind<'RunSteered'>): void {
  const run = liveRun(next);
  const steers = [...run.steers, input];
  if (attachments === undefined) {
    next.run = { ...run, steers };
    return;
  }
  const known = run.steer_attachments ?? [];
  const none = run.steers.slice(known.length).map((): Attachments => []);
  next.run = inOrder({ ...run, steer_attachments: [...known, ...none, attachments], steers });
}

/** Moves the steers into the conversation, which the next generate sends. */
export function takeSteers(next: NextState): void {
  const run = liveRun(next);
  if (run.steers.length === 0) return;
  const { steer_attachments: files = [], ...rest } = run;
  append(
    next,
    run.steers.map((steer, index) => userEntry(steer, files[index])),
  );
  next.run = { ...rest, steers: [] };
}

/** Closes the batch: the results of its calls go to the model, in call order. */
export function settleBatch(next: NextState, event: EventOfKind<'ToolBatchSettled'>, state: SessionState): void {
  const batch = openBatchOf(state);
  append(next, resultEntries(batch));
  next.active_tool_batch = null;
  const terminal = terminalResult(batch);
  const amended = state.run?.amended ?? [];
  if (terminal === null && amended.length > 0) openAmended(next, state, amended, event.at_ms);
  else if (terminal === null) beginTurn(next, event.at_ms);
  else if (terminal.failed) endRun(next, failure(codedText(rulesOf(next), 'terminal_result', {})), event.at_ms);
  else endRun(next, COMPLETED, event.at_ms);
}

// A call that a person approved with changed arguments is a new call. The model reads it as one of the calls it made.
function openAmended(next: NextState, state: SessionState, calls: readonly ToolCallObserved[], atMs: number): void {
  append(next, [assistantEntry({ calls })]);
  editRun(next, (run) => {
    delete run.amended;
    delete run.amended_elsewhere;
    run.calls += calls.length;
  });
  openBatch(next, state, { calls, atMs, amendedFrom: state.run?.amended_elsewhere ?? 0 });
}

/** A person interrupts: queued calls are not started, and the run continues with the given input, or ends. */
export function interruptRun(next: NextState, event: EventOfKind<'user.interrupt'>): void {
  const { input, attachments } = event;
  if (input !== undefined) {
    const { redirect_attachments: _before, ...run } = liveRun(next);
    const files = attachments === undefined ? {} : { redirect_attachments: attachments };
    next.run = inOrder({ ...run, ...files, redirect: input });
  }
  beginEnding(next, { phase: 'interrupting', ending: endedBy('interrupted', event.reason) }, event.at_ms);
}

export function pauseRun(next: NextState): void {
  const run = liveRun(next);
  next.run = { ...run, phase: PAUSED[run.phase] ?? run.phase };
}

export function resumeRun(next: NextState): void {
  const run = liveRun(next);
  const phase = RESUMED[run.phase] ?? run.phase;
  next.run = { ...run, phase };
  // The run was paused between two turns, so its generate becomes owed now, unless a compaction is owed before it.
  if (phase === 'generating' && run.offer === null && !owesCompaction(run)) takeSteers(next);
}

/** How a run ends that is not complete. */
type BrokenEnding = RunEnding & { readonly outcome: 'failed' | 'cancelled' | 'interrupted' };

/** Starts no further call, and ends the run when the running calls have settled: at once when there are none. */
export function beginEnding(
  next: NextState,
  to: { readonly phase: 'interrupting' | 'cancelling'; readonly ending: BrokenEnding },
  atMs: number,
): void {
  if (to.phase === 'cancelling') {
    editRun(next, (run) => {
      delete run.redirect;
      delete run.redirect_attachments;
    });
  }
  if (next.active_tool_batch !== null) {
    if (to.phase === 'interrupting') detachCalls(next);
    cancelCalls(next, to.ending.outcome);
    if (next.active_tool_batch.running > 0) {
      next.run = { ...liveRun(next), phase: to.phase, ending: to.ending };
      return;
    }
  }
  endOrRedirect(next, to.ending, atMs);
}

/** Ends a run that is ending when none of its calls runs any more; does nothing to every other run. */
export function finishEnding(next: NextState, atMs: number): void {
  const ending = next.run?.ending ?? null;
  if (ending !== null && next.active_tool_batch?.running === 0) endOrRedirect(next, ending, atMs);
}

function endOrRedirect(next: NextState, ending: RunEnding, atMs: number): void {
  const { redirect, redirect_attachments, phase } = liveRun(next);
  if (redirect === undefined) {
    endRun(next, ending, atMs);
    return;
  }
  closeBatch(next);
  // Steers came before the interrupt, so they go first.
  takeSteers(next);
  append(next, [userEntry(redirect, redirect_attachments)]);
  // A run that has not begun its first turn still waits for its host session. A redirected run is no longer paused.
  const opening = phase === 'opening' || phase === 'paused_opening';
  editRun(next, (run) => {
    delete run.amended;
    delete run.amended_elsewhere;
    delete run.redirect;
    delete run.redirect_attachments;
    run.ending = null;
    run.phase = opening ? 'opening' : 'generating';
  });
  if (!opening) beginTurn(next, atMs);
}

/** Ends the run. An open batch is closed with a result for each call; a waiting follow-up run may start. */
export function endRun(next: NextState, ending: RunEnding, atMs: number): void {
  closeBatch(next);
  recordRun(next, ending, atMs);
  // After a cancelled or failed run the client decides what happens next, so queued follow-up runs keep waiting.
  if (ending.outcome !== 'completed' && ending.outcome !== 'interrupted') return;
  startFollowUp(next, atMs);
}

function closeBatch(next: NextState): void {
  if (next.active_tool_batch === null) return;
  append(next, resultEntries(next.active_tool_batch));
  next.active_tool_batch = null;
}

/**
 * Starts the first follow-up run that waits. The registry may have changed since it was queued: one that no longer fits is
 * recorded as a failed run.
 */
export function startFollowUp(next: NextState, atMs: number): void {
  while (next.run === null) {
    const [first, ...rest] = next.follow_ups;
    if (first === undefined) return;
    next.follow_ups = rest;
    const tool_overrides = { ...next.tool_overrides, run: first.tools ?? NO_OVERRIDES };
    const config = configFor(next, first);
    const fault = followUpFault(rulesOf(next), config, { ...next, run: { config }, tool_overrides });
    startRun(next, first, { kind: 'follow_up' }, atMs);
    if (fault === null) return;
    recordRun(next, failure(fault), atMs);
  }
}

function followUpFault(rules: RuleSet, config: RunConfig, input: EffectiveToolsInput): CodedText | null {
  const missing = findConfigFault(config);
  if (missing !== null) return codedText(rules, missing.code, {});
  const unknown = findToolSetFault(input);
  if (unknown === null) return null;
  const { name, rejection } = unknown;
  return rejection.code === 'profile_unknown'
    ? codedText(rules, 'profile_unknown', { name })
    : codedText(rules, 'tool_unknown.run', { name });
}

function recordRun(next: NextState, ending: RunEnding, atMs: number): void {
  const { run_id, cause, turn, calls, usage, started_at_ms } = liveRun(next);
  const record: RunRecord = { calls, cause, ended_at_ms: atMs, ending, run_id, started_at_ms, turn, usage };
  next.run_history = [...next.run_history, record].slice(-RUN_HISTORY_MAX);
  next.run = null;
  next.tool_overrides = { ...next.tool_overrides, run: NO_OVERRIDES };
}

/** How far into an input its first line that is not blank is searched for. */
const TITLE_SEARCHED_CHARS = 1_024;

export const failure = ({ code, message }: CodedText): BrokenEnding => ({
  code,
  message,
  outcome: 'failed',
  output: null,
});

export const COMPLETED: RunEnding = { code: null, message: null, outcome: 'completed', output: null };

export const endedBy = (outcome: 'interrupted' | 'cancelled', reason: string | undefined): BrokenEnding => ({
  code: null,
  message: reason ?? null,
  outcome,
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

export const isPaused = (phase: RunPhase): boolean => phase.startsWith('paused_');
