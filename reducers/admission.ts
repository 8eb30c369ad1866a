// Admission: whether an event applies to a state. Null when it does; otherwise a rejection with a stable code, and nothing
// is recorded. Admission finds everything that can be wrong with an event, so that the fold can be total.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { EventOfKind, IngressEvent, IngressKind } from '../schemas/event.ts';
import { FOLLOW_UPS_MAX, REGISTRY_TOOLS_MAX, STEERS_MAX } from '../schemas/limits.ts';
import { pointerSegment, type Rejection, reject } from '../schemas/rejection.ts';
import { type FollowUp, type RunState, isExternal } from '../schemas/run.ts';
import type { ActiveToolBatch, SessionState } from '../schemas/state.ts';
import { NO_OVERRIDES } from '../schemas/tool-set.ts';
import type { ToolSpec } from '../schemas/tool-spec.ts';
import { admitConfirmation, admitCustomResult, admitPreviewed } from './answer-admission.ts';
import { admitLeaseExpired, admitSettled, admitStarted, findBatchFault } from './batch-admission.ts';
import { admitCompacted, owesCompaction } from './compaction.ts';
import { detachedCall } from './detached.ts';
import { type EffectiveToolsInput, computeEffectiveTools } from './effective-tools.ts';
import { nextDeadline } from './deadlines.ts';
import { findPackageFault, isKnownTool, packageAfter, profilesOf, registryOf } from './registry.ts';
import { admitAsked, admitElicited, admitNoted } from './question-admission.ts';
import { findRulesFault } from './rules/known-rules.ts';
import { resultsDigest } from './batch-results.ts';
import { changedConfig, configFor, findConfigFault } from './run.ts';
import { PHASE_BOUND_KINDS, phaseOf, transitionsOf } from './run-phases.ts';
import { findToolsetsTool, toolsetTools } from './toolset-members.ts';
import { admitApproval, admitRemoval, admitToolset } from './toolsets.ts';
import { admitUndo, admitUndoSettled } from './undo.ts';

export function admit(state: SessionState, event: IngressEvent): Rejection | null {
  const admitKind = ADMISSIONS[event.kind] as Admission<IngressEvent>;
  const misfit = isReportOnDetached(state, event) ? null : admitPhase(state, event);
  return misfit ?? admitKind(state, event);
}

type Admission<E> = (state: SessionState, event: E) => Rejection | null;

/** For kinds that only depend on phase, run and turn. */
const always = (): null => null;

const ADMISSIONS: { readonly [K in IngressKind]: Admission<EventOfKind<K>> } = {
  RunRequested: (state, event) => admitRun(state, event, ''),
  ToolCallsObserved: always,
  GenerateFailed: always,
  ContextCompacted: admitCompacted,
  CompactFailed: always,
  ToolCallStarted: admitStarted,
  ToolCallSettled: admitSettled,
  LeaseExpired: admitLeaseExpired,
  CallPreviewed: admitPreviewed,
  ToolCallNoted: admitNoted,
  ToolCallAsked: admitAsked,
  ToolBatchSettled: admitBatchSettled,
  HostSessionUpdated: always,
  ToolRegistrySet: admitRegistry,
  ToolsetSet: admitToolset,
  ToolsetApproved: admitApproval,
  ToolsetRemoved: admitRemoval,
  ToolProfileSelected: (state, { profile_id }) =>
    admitProfile(state, profile_id) ?? admitTools({ ...state, tool_profile: profile_id }),
  ToolOverridesSet: admitOverrides,
  SessionConfigured: (state, event) =>
    admitTools({ ...state, config: changedConfig(state.config, event.config) }, (path) => configPath('/config', path)),
  RunSteered: (state) =>
    (state.run?.steers.length ?? 0) < STEERS_MAX
      ? null
      : reject('steer_queue_full', '/input', `${STEERS_MAX} steering messages wait already`),
  FollowUpQueued: (state, event) =>
    // With no live run the first of them starts, so that one more fits.
    state.run === null || state.follow_ups.length < FOLLOW_UPS_MAX
      ? admitRun(state, event.follow_up, '/follow_up')
      : reject('follow_up_queue_full', '/follow_up', `${FOLLOW_UPS_MAX} follow-up runs wait already`),
  RunPaused: always,
  RunResumed: always,
  RunCancelled: always,
  RunCompleted: always,
  RunFailed: always,
  ConsentPolicySet: admitPolicy,
  RulesAdopted: admitRules,
  'user.tool_confirmation': admitConfirmation,
  'user.custom_tool_result': admitCustomResult,
  'user.elicitation_result': admitElicited,
  'user.interrupt': (_state, { input, attachments }) =>
    attachments === undefined || input !== undefined
      ? null
      : reject('invalid_shape', '/attachments', 'attachments go with an input; give both, or neither'),
  UndoRequested: admitUndo,
  UndoSettled: admitUndoSettled,
  TimeReached: (state, event) =>
    (nextDeadline(state) ?? Infinity) <= event.due_at_ms
      ? null
      : reject('time_not_due', '/due_at_ms', `the session waits for no time at or before ${event.due_at_ms}`),
};

/** The kinds that no live run allows. */
const WITHOUT_RUN: ReadonlySet<IngressKind> = new Set(['RunRequested', 'RulesAdopted']);

/** Checks run, turn and phase, in this order, so that a late report gets another code than a misdirected one. */
function admitPhase(state: SessionState, event: IngressEvent): Rejection | null {
  if (!PHASE_BOUND_KINDS.has(event.kind)) return null;
  const phase = phaseOf(state);
  const { run } = state;
  if (run === null) {
    if (transitionsOf('idle', event.kind) !== null) return null;
    return isBatchKind(event)
      ? reject('batch_not_active', '/kind', 'no batch is open')
      : reject('run_not_active', '/kind', 'no run is active');
  }
  if (WITHOUT_RUN.has(event.kind)) {
    return reject('run_already_active', '/kind', `${run.run_id} is still active`);
  }
  if ('run_id' in event && event.run_id !== run.run_id) {
    return reject('wrong_run', '/run_id', `${run.run_id} is active, not ${event.run_id}`);
  }
  if ('turn' in event && event.turn !== run.turn) {
    return reject('wrong_turn', '/turn', `the run is at turn ${run.turn}, not ${event.turn}`);
  }
  if (transitionsOf(phase, event.kind) !== null && !reportsUnowed(run, event)) return null;
  const batch = state.active_tool_batch;
  if (batch === null) {
    if (isBatchKind(event)) return reject('batch_not_active', '/kind', 'no batch is open');
  } else if (event.kind === 'ToolCallsObserved' || event.kind === 'RunCompleted') {
    return reject('batch_open', '/kind', `${batch.batch_id} is open`);
  }
  return reject('wrong_phase', '/kind', `${event.kind} is not allowed while the run is ${phase}`);
}

/** Reports on detached calls are admitted in every phase. */
const isReportOnDetached = (state: SessionState, event: IngressEvent): boolean =>
  (event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') && detachedCall(state, event) !== undefined;

/**
 * Whether an event reports a generate or a compaction that is not owed: the other one is, the run is paused between two turns,
 * it waits before a retry, or it is external, where the host only reports calls.
 */
function reportsUnowed(run: RunState, event: IngressEvent): boolean {
  if (!('turn' in event)) return false;
  if (isExternal(run) && event.kind !== 'ToolCallsObserved') return true;
  if ((run.retry?.not_before_ms ?? null) !== null) return true;
  const isCompaction = event.kind === 'ContextCompacted' || event.kind === 'CompactFailed';
  if (isCompaction !== owesCompaction(run)) return true;
  return !isCompaction && run.phase === 'paused_generating' && run.offer === null;
}

const isBatchKind = (event: IngressEvent): boolean => 'batch_id' in event;

function admitRun(state: SessionState, request: Omit<FollowUp, 'input'>, path: string): Rejection | null {
  const config = configFor(state, request);
  const fault = findConfigFault(config);
  if (fault !== null) return { ...fault, path: `${path}/run_overrides${fault.path}` };
  const tool_overrides = { ...state.tool_overrides, run: request.tools ?? NO_OVERRIDES };
  const pathInRequest = (inner: string): string =>
    /^\/(enable|disable|force)\//.test(inner) ? `${path}/tools${inner}` : configPath(`${path}/run_overrides`, inner);
  return admitTools({ ...state, run: { config }, tool_overrides }, pathInRequest);
}

/** The path in a config of what caused a fault in the tool set. */
const configPath = (config: string, inner: string): string =>
  inner === '/profile_id' ? `${config}/tool_profile` : `${config}${inner}`;

/** The fault in the tool set that follows from the input, now or when the live run has ended; null when there is none. */
function admitTools(input: EffectiveToolsInput, pathOf: (path: string) => string = (path) => path): Rejection | null {
  const withoutRun = { ...input, run: null, tool_overrides: { ...input.tool_overrides, run: NO_OVERRIDES } };
  for (const state of [input, withoutRun]) {
    const tools = computeEffectiveTools(state);
    if (isLeft(tools)) return { ...tools.left, path: pathOf(tools.left.path) };
  }
  return null;
}

function admitProfile(state: SessionState, profile: string): Rejection | null {
  return Object.hasOwn(state.tool_profiles, profile)
    ? null
    : reject('profile_unknown', '/profile_id', `there is no tool profile "${profile}"`);
}

function admitPolicy(state: SessionState, { policy }: EventOfKind<'ConsentPolicySet'>): Rejection | null {
  const unregistered = Object.keys(policy.tools).find((id) => !isKnownTool(state.tool_registry, id));
  if (unregistered === undefined) return null;
  return reject('tool_unknown', `/policy/tools${pointerSegment(unregistered)}`, `there is no tool "${unregistered}"`);
}

function admitRules(state: SessionState, event: EventOfKind<'RulesAdopted'>): Rejection | null {
  const fault = findRulesFault(event);
  if (fault !== null || event.rules > state.rules) return fault;
  return reject('rules_not_newer', '/rules', `the session has rules ${state.rules} already`);
}

function admitRegistry(state: SessionState, event: EventOfKind<'ToolRegistrySet'>): Rejection | null {
  const next = packageAfter(state, event);
  const kept = toolsetTools(state);
  return (
    findToolsetFault(state, next.registry, kept.length) ??
    findPackageFault(next, kept) ??
    admitTools({
      ...state,
      tool_registry: registryOf([...next.registry, ...kept]),
      tool_profiles: profilesOf(next.profiles),
      provider_profiles: next.provider_profiles,
    })
  );
}

/** Tools of toolsets are kept: only their source sets them. */
function findToolsetFault({ toolsets }: SessionState, registry: readonly ToolSpec[], kept: number): Rejection | null {
  const index = findToolsetsTool(toolsets, registry);
  if (index !== -1) {
    const message = `"${registry[index]?.tool_id}" belongs to a toolset of the session, which keeps its tools; leave it out`;
    return reject('registry_invalid', `/registry/${index}/tool_id`, message);
  }
  if (registry.length + kept <= REGISTRY_TOOLS_MAX) return null;
  const others = `the toolsets of the session have ${kept} tools`;
  return reject(
    'toolsets_full',
    '/registry',
    `${others}; with these ${registry.length}, more than ${REGISTRY_TOOLS_MAX}`,
  );
}

function admitOverrides(state: SessionState, event: EventOfKind<'ToolOverridesSet'>): Rejection | null {
  if (event.scope === 'run' && state.run === null) {
    return reject('run_not_active', '/scope', 'the scope "run" requires an active run, and no run is active');
  }
  const { enable = [], disable = [], force = [] } = event;
  const scoped = { ...state.tool_overrides, [event.scope]: { enable, disable, force } };
  return admitTools({ ...state, tool_overrides: scoped });
}

function admitBatchSettled(state: SessionState, event: EventOfKind<'ToolBatchSettled'>): Rejection | null {
  const fault = findBatchFault(state, event);
  if (fault !== null) return fault;
  const { queued = 0, running = 0, waiting = 0 } = state.active_tool_batch ?? {};
  const open = queued + running + waiting;
  if (open > 0) return reject('batch_not_settled', '/batch_id', `${open} calls of the batch are not settled`);
  const results = resultsDigest(state.active_tool_batch as ActiveToolBatch);
  if (event.results_digest === results) return null;
  return reject('results_mismatch', '/results_digest', `the digest of the results of the batch is ${results}`);
}
