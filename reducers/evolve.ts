// The fold: one event into the next state. Total over admitted events; no clock, no I/O, no randomness. The walk is
// straight: fold the event, then derive what follows from the new state (effective tools, the pinned offer).
import { isLeft } from 'fp-ts/lib/Either.js';
import { type Draft, produce } from 'immer';
import type { EventOfKind, IngressEvent, IngressKind } from '../schemas/event.ts';
import type { Version } from '../schemas/ids.ts';
import { freezeJson } from '../schemas/json.ts';
import { invariant } from '../schemas/rejection.ts';
import type { SessionState } from '../schemas/state.ts';
import type { EffectiveToolSet } from '../schemas/tool-set.ts';
import { loseCall, settleCall, startCall } from './batch.ts';
import { type EffectiveToolsInput, computeEffectiveTools, waitsForHostSession } from './effective-tools.ts';
import { answerCustomCall, confirmCall } from './answers.ts';
import { detachedCall, forgetDetached } from './detached.ts';
import { reachTime } from './deadlines.ts';
import { applyHostSession } from './host-session.ts';
import { setRegistry } from './registry.ts';
import {
  COMPLETED,
  beginEnding,
  beginTurn,
  endRun,
  endedBy,
  failGenerate,
  failure,
  finishEnding,
  interruptRun,
  observeCalls,
  pauseRun,
  resumeRun,
  settleBatch,
  startRun,
} from './run.ts';
import { requestUndo, settleUndo } from './undo.ts';

/** The next state. The event must have been admitted; it is taken over and frozen. */
export function evolve(state: SessionState, event: IngressEvent): SessionState {
  const fold = FOLDS[event.kind] as Fold<IngressEvent>;
  freezeJson(event);
  const folded = produce(state, (draft) => {
    draft.version = (state.version + 1) as Version;
    draft.updated_at_ms = event.at_ms;
    fold(draft, event, state);
  });
  return derive(folded, state);
}

/** Writes one event into the draft. What does not change is read from the frozen state, where it costs no draft. */
type Fold<E> = (draft: Draft<SessionState>, event: E, state: SessionState) => void;

const FOLDS: { readonly [K in IngressKind]: Fold<EventOfKind<K>> } = {
  RunRequested: (draft, event) => startRun(draft, event, event.cause ?? { kind: 'direct' }, event.at_ms),
  ToolCallsObserved: observeCalls,
  GenerateFailed: failGenerate,
  ToolCallStarted: startCall,
  ToolCallSettled: (draft, event, state) => {
    if (detachedCall(state, event) === undefined) settleCall(draft, event, state);
    else forgetDetached(draft, state, event);
    if (event.host_session !== undefined) applyHostSession(draft, event.host_session);
    if (isEnding(state)) finishEnding(draft, event.at_ms);
  },
  LeaseExpired: (draft, event, state) => {
    if (detachedCall(state, event) === undefined) loseCall(draft, event, state);
    else forgetDetached(draft, state, event);
    if (isEnding(state)) finishEnding(draft, event.at_ms);
  },
  ToolBatchSettled: settleBatch,
  HostSessionUpdated: (draft, event) => {
    applyHostSession(draft, event.host_session);
    if (event.host_session.host_session_status !== undefined) leaveOpening(draft, event.at_ms, event.detail);
  },
  ToolRegistrySet: setRegistry,
  ToolProfileSelected: (draft, event) => {
    draft.tool_profile = event.profile_id;
  },
  ToolOverridesSet: (draft, { scope, enable = [], disable = [], force = [] }) => {
    draft.tool_overrides[scope] = { enable: [...enable], disable: [...disable], force: [...force] };
  },
  SessionConfigured: (draft, event, state) => {
    draft.config = { ...state.config, ...event.config };
  },
  RunSteered: (draft, event) => {
    draft.run?.steers.push(event.input);
  },
  FollowUpQueued: (draft, event, state) => {
    if (state.run === null) startRun(draft, event.follow_up, { kind: 'follow_up' }, event.at_ms);
    else draft.follow_ups.push(event.follow_up as Draft<typeof event.follow_up>);
  },
  RunPaused: pauseRun,
  RunResumed: resumeRun,
  RunCancelled: (draft, event, state) => {
    beginEnding(draft, state, { phase: 'cancelling', ending: endedBy('cancelled', event.reason) }, event.at_ms);
  },
  RunCompleted: (draft, event) => endRun(draft, { ...COMPLETED, output: event.output ?? null }, event.at_ms),
  RunFailed: (draft, event, state) => {
    beginEnding(draft, state, { phase: 'cancelling', ending: failure(event.code, event.message) }, event.at_ms);
  },
  UndoRequested: requestUndo,
  UndoSettled: settleUndo,
  ConsentPolicySet: (draft, { policy }) => {
    draft.consent = { policy, grants: [] };
  },
  'user.tool_confirmation': confirmCall,
  'user.custom_tool_result': answerCustomCall,
  'user.interrupt': interruptRun,
  TimeReached: reachTime,
};

// Looked up in the frozen state: a draft of the run would be made for nothing.
const isEnding = ({ run }: SessionState): boolean => run !== null && run.ending !== null;

// A run that waited for its host session goes on when it is ready, and says why when it cannot be had.
function leaveOpening(draft: Draft<SessionState>, atMs: number, detail: string | undefined): void {
  if (draft.run?.phase !== 'opening' && draft.run?.phase !== 'paused_opening') return;
  const status = draft.tool_runtime_context.host_session_status;
  if (status === 'ready') beginTurn(draft, atMs);
  else if (status !== null) {
    endRun(draft, failure('host_session_failed', detail ?? `the host session is ${status}`), atMs);
  }
}

/** Recomputes the effective tools when something they follow from has changed, and what follows from them. */
function derive(next: SessionState, before: SessionState): SessionState {
  const tools = dependsOnSame(next, before) ? next.effective_tools : effectiveTools(next);
  const withTools = tools === next.effective_tools ? next : setTools(next, tools);
  return pinOffer(skipOpening(withTools));
}

const setTools = (state: SessionState, tools: EffectiveToolSet): SessionState =>
  freezeJson({ ...state, effective_tools: tools });

/** A run that was to open a host session goes on without one when none of its tools needs it. */
function skipOpening(state: SessionState): SessionState {
  if (state.run?.phase !== 'opening' || waitsForHostSession(state.effective_tools)) return state;
  return produce(state, (draft) => beginTurn(draft, state.updated_at_ms));
}

/** The tools of a new turn are pinned: its calls are judged by what the model was offered. */
function pinOffer(state: SessionState): SessionState {
  if (state.run?.phase !== 'generating' || state.run.offer !== null) return state;
  return freezeJson({ ...state, run: { ...state.run, offer: state.effective_tools } });
}

const dependsOnSame = (a: EffectiveToolsInput, b: EffectiveToolsInput): boolean =>
  a.tool_registry === b.tool_registry &&
  a.tool_profiles === b.tool_profiles &&
  a.provider_profiles === b.provider_profiles &&
  a.tool_profile === b.tool_profile &&
  a.tool_overrides === b.tool_overrides &&
  a.tool_runtime_context === b.tool_runtime_context &&
  a.config === b.config &&
  a.run?.config === b.run?.config;

function effectiveTools(state: SessionState): EffectiveToolSet {
  const tools = computeEffectiveTools(state);
  invariant(!isLeft(tools), 'an admitted event leads to a valid tool set');
  return tools.right;
}
