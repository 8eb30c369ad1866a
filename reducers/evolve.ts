// The fold: from a state and an event to the next state. Total over admitted events; no clock, no I/O, no randomness. It
// folds the event, then derives the effective tools and the pinned offer from the new state, and judges the calls that have
// not started again when what is allowed has changed.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventOfKind, IngressEvent, IngressKind } from '../schemas/event.ts';
import type { Version } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { invariant } from '../schemas/rejection.ts';
import { isExternal } from '../schemas/run.ts';
import type { SessionState } from '../schemas/state.ts';
import { loseCall, settleCall, startCall } from './batch.ts';
import { type EffectiveToolsInput, computeEffectiveTools, waitsForHostSession } from './effective-tools.ts';
import { answerCustomCall, confirmCall, notePreview } from './answers.ts';
import { owesCompaction } from './compaction.ts';
import { detachedCall, forgetDetached } from './detached.ts';
import { reachTime } from './deadlines.ts';
import { applyHostSession } from './host-session.ts';
import { type NextState, inOrder } from './next-state.ts';
import { foldAnswer, foldQuestion, noteHandle } from './questions/questions.ts';
import { cutOffer } from './toolsets/offer.ts';
import { reconsiderCalls } from './reconsider.ts';
import { setRegistry } from './registry.ts';
import { rulesOf } from './rules/known-rules.ts';
import { codedText } from './rules/rule-set.ts';
import {
  COMPLETED,
  addSteer,
  beginEnding,
  beginTurn,
  changedConfig,
  endRun,
  endedBy,
  failure,
  finishEnding,
  interruptRun,
  pauseRun,
  resumeRun,
  settleBatch,
  startFollowUp,
  startRun,
} from './run.ts';
import { compactContext, failCompact, failGenerate, observeCalls } from './turn.ts';
import { approveToolset, removeToolset, setToolset } from './toolsets/toolsets.ts';
import { requestUndo, settleUndo } from './undo.ts';

/** The next state, frozen. The event must have been admitted; it is frozen and becomes part of the state. */
export function evolve(state: SessionState, event: IngressEvent): SessionState {
  const fold = FOLDS[event.kind] as Fold<IngressEvent>;
  const next: NextState = { ...state };
  next.version = (state.version + 1) as Version;
  next.updated_at_ms = event.at_ms;
  fold(next, freezeJson(event), state);
  // Here and not in the folds of single kinds: whatever ended the last running call, the run ends with it.
  finishEnding(next, event.at_ms);
  derive(next, state);
  reconsiderCalls(next, state, event);
  return freezeJson(hasGainedSlot(next, state) ? inOrder(next) : next);
}

type OptionalSlot = {
  [Slot in keyof SessionState]-?: object extends Pick<SessionState, Slot> ? Slot : never;
}[keyof SessionState];

/** Every slot that a state may lack; the compiler finds one that is missing here. */
const OPTIONAL_SLOTS: Readonly<Record<OptionalSlot, true>> = {
  detached: true,
  parent: true,
  title: true,
  toolsets: true,
  undos: true,
};
const optionalSlots = Object.keys(OPTIONAL_SLOTS) as readonly OptionalSlot[];

/** Whether the state has an optional slot that it did not have before; then its slots are put in order. */
const hasGainedSlot = (next: NextState, before: SessionState): boolean =>
  optionalSlots.some((slot) => next[slot] !== undefined && before[slot] === undefined);

/** Folds one event: writes the slots of `next` that it changes. */
type Fold<E> = (next: NextState, event: E, state: SessionState) => void;

const FOLDS: { readonly [K in IngressKind]: Fold<EventOfKind<K>> } = {
  RunRequested: (next, event) => startRun(next, event, event.cause ?? { kind: 'direct' }, event.at_ms),
  ToolCallsObserved: observeCalls,
  GenerateFailed: failGenerate,
  ContextCompacted: compactContext,
  CompactFailed: failCompact,
  ToolCallStarted: startCall,
  ToolCallSettled: (next, event, state) => {
    if (detachedCall(state, event) === undefined) settleCall(next, event);
    else forgetDetached(next, event);
    if (event.host_session !== undefined) applyHostSession(next, event.host_session);
  },
  LeaseExpired: (next, event, state) => {
    if (detachedCall(state, event) === undefined) loseCall(next, event);
    else forgetDetached(next, event);
  },
  CallPreviewed: notePreview,
  ToolCallNoted: noteHandle,
  ToolCallAsked: foldQuestion,
  ToolBatchSettled: settleBatch,
  HostSessionUpdated: (next, event) => {
    applyHostSession(next, event.host_session);
    if (event.host_session.host_session_status !== undefined) leaveOpening(next, event.at_ms, event.detail);
  },
  ToolRegistrySet: setRegistry,
  ToolsetSet: setToolset,
  ToolsetApproved: approveToolset,
  ToolsetRemoved: removeToolset,
  ToolProfileSelected: (next, event) => {
    next.tool_profile = event.profile_id;
  },
  ToolOverridesSet: (next, { scope, enable = [], disable = [], force = [] }) => {
    next.tool_overrides = { ...next.tool_overrides, [scope]: { disable, enable, force } };
  },
  SessionConfigured: (next, event) => {
    next.config = changedConfig(next.config, event.config);
  },
  RunSteered: addSteer,
  FollowUpQueued: (next, event, state) => {
    next.follow_ups = [...next.follow_ups, event.follow_up];
    // Those that a cancelled or failed run left behind were queued first.
    if (state.run === null) startFollowUp(next, event.at_ms);
  },
  RunPaused: pauseRun,
  RunResumed: resumeRun,
  RunCancelled: (next, event) => {
    beginEnding(next, { phase: 'cancelling', ending: endedBy('cancelled', event.reason) }, event.at_ms);
  },
  RunCompleted: (next, event) => endRun(next, { ...COMPLETED, output: event.output ?? null }, event.at_ms),
  RunFailed: (next, event) => {
    beginEnding(next, { phase: 'cancelling', ending: failure(event) }, event.at_ms);
  },
  UndoRequested: requestUndo,
  UndoSettled: settleUndo,
  ConsentPolicySet: (next, { policy }) => {
    next.consent = { grants: [], policy };
  },
  RulesAdopted: (next, { rules }) => {
    next.rules = rules;
  },
  'user.tool_confirmation': confirmCall,
  'user.custom_tool_result': answerCustomCall,
  'user.elicitation_result': foldAnswer,
  'user.interrupt': interruptRun,
  TimeReached: reachTime,
};

// A run that waits for its host session begins its first turn when it is ready, and fails when it cannot be opened.
function leaveOpening(next: NextState, atMs: number, detail: string | undefined): void {
  if (next.run?.phase !== 'opening' && next.run?.phase !== 'paused_opening') return;
  const status = next.tool_runtime_context.host_session_status;
  if (status === 'ready') beginTurn(next, atMs);
  else if (status !== null) {
    const { code, message } = codedText(rulesOf(next), 'host_session_failed', { status });
    endRun(next, failure({ code, message: detail ?? message }), atMs);
  }
}

/** Recomputes the effective tools when their input has changed, and what depends on them. */
function derive(next: NextState, before: SessionState): void {
  if (!dependsOnSame(next, before)) next.effective_tools = effectiveTools(next);
  // A run that waits for a host session continues without one when none of its tools needs it any more.
  if (next.run?.phase === 'opening' && !waitsForHostSession(next.effective_tools)) beginTurn(next, next.updated_at_ms);
  pinOffer(next, before);
}

/**
 * Pins the tools of a new turn: its calls are judged by what the model was offered. The host of an external run lists the tools
 * whenever they change, so that its offer follows them until it calls.
 */
function pinOffer(next: NextState, before: SessionState): void {
  const { run, effective_tools } = next;
  if (run?.phase !== 'generating' || owesCompaction(run)) return;
  if (run.offer !== null && (!isExternal(run) || effective_tools === before.effective_tools)) return;
  next.run = { ...run, offer: cutOffer(next, effective_tools) };
}

const dependsOnSame = (a: EffectiveToolsInput, b: EffectiveToolsInput): boolean =>
  a.tool_registry === b.tool_registry &&
  a.toolsets === b.toolsets &&
  a.tool_profiles === b.tool_profiles &&
  a.provider_profiles === b.provider_profiles &&
  a.tool_profile === b.tool_profile &&
  a.tool_overrides === b.tool_overrides &&
  a.tool_runtime_context === b.tool_runtime_context &&
  a.config === b.config &&
  a.run?.config === b.run?.config;

function effectiveTools(state: SessionState): SessionState['effective_tools'] {
  const tools = computeEffectiveTools(state);
  invariant(!isLeft(tools), 'an admitted event leads to a valid tool set');
  return tools.right;
}
