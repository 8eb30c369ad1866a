// The life of a run as a table: which event may move it from which phase to which. Admission, the exhaustive tests and the
// diagram in the docs read it. A phase refuses every kind that it does not list, unless `PHASE_BOUND` says that the kind is
// admitted in every phase; the rows of such a kind say only which phases it may lead to.
import type { IngressKind } from '../schemas/event.ts';
import type { RunPhase } from '../schemas/run.ts';

/** `idle` is a session without a live run. */
export type Phase = 'idle' | RunPhase;

/** After a run that ended: no run, or the follow-up run that waited. */
const END = ['idle', 'opening', 'generating'] as const;

/** Steers and follow-ups are accepted and do not change the phase. */
const keepsPhase = (phase: Phase) => ({ RunSteered: [phase], FollowUpQueued: [phase] }) as const;
/** After a run that failed or was cancelled: no run; follow-up runs keep waiting. */
const STOP = ['idle'] as const;
/** An interrupted run ends, or continues with the input of the interrupt. */
const endings = { 'user.interrupt': END, RunCancelled: STOP, RunCompleted: END, RunFailed: STOP } as const;
/** A call or a retried generate becomes due, or the run, which ends then. */
const timeReached = (...phases: readonly Phase[]) => ({ TimeReached: [...phases, ...STOP] }) as const;
/** What people are shown, asked and answer while a batch is open. */
const answers = (phase: Phase) =>
  ({
    CallPreviewed: [phase],
    ToolCallNoted: [phase],
    ToolCallAsked: [phase],
    'user.tool_confirmation': [phase],
    'user.custom_tool_result': [phase],
    'user.elicitation_result': [phase],
  }) as const;

export const RUN_TRANSITIONS = {
  idle: {
    RunRequested: ['opening', 'generating'],
    FollowUpQueued: ['opening', 'generating'],
    RulesAdopted: ['idle'],
  },
  opening: {
    ...keepsPhase('opening'),
    ...timeReached('opening'),
    ...endings,
    HostSessionUpdated: END,
    // The run continues without a host session when none of its tools needs one any more.
    ToolRegistrySet: ['opening', 'generating'],
    ToolsetSet: ['opening', 'generating'],
    ToolsetApproved: ['opening', 'generating'],
    ToolsetRemoved: ['opening', 'generating'],
    ToolProfileSelected: ['opening', 'generating'],
    ToolOverridesSet: ['opening', 'generating'],
    RunPaused: ['paused_opening'],
  },
  generating: {
    ...keepsPhase('generating'),
    ...timeReached('generating'),
    ...endings,
    ToolCallsObserved: ['executing', ...END],
    GenerateFailed: ['generating', ...STOP],
    ContextCompacted: ['generating', ...STOP],
    CompactFailed: ['generating', ...STOP],
    RunPaused: ['paused_generating'],
  },
  executing: {
    ...keepsPhase('executing'),
    ...timeReached('executing', 'cancelling'),
    ...answers('executing'),
    ToolCallStarted: ['executing'],
    ToolCallSettled: ['executing'],
    LeaseExpired: ['executing'],
    ToolBatchSettled: ['executing', ...END],
    RunPaused: ['paused_executing'],
    'user.interrupt': ['interrupting', ...END],
    RunCancelled: ['cancelling', ...STOP],
    RunFailed: ['cancelling', ...STOP],
  },
  paused_opening: {
    ...keepsPhase('paused_opening'),
    ...timeReached('paused_opening'),
    ...endings,
    HostSessionUpdated: ['paused_opening', 'paused_generating', ...END],
    RunResumed: ['opening', 'generating'],
  },
  paused_generating: {
    ...keepsPhase('paused_generating'),
    ...timeReached('paused_generating'),
    ...endings,
    ToolCallsObserved: ['paused_executing', 'paused_generating', ...END],
    GenerateFailed: ['paused_generating', ...STOP],
    ContextCompacted: ['paused_generating', ...STOP],
    CompactFailed: ['paused_generating', ...STOP],
    RunResumed: ['generating'],
  },
  paused_executing: {
    ...keepsPhase('paused_executing'),
    ...timeReached('paused_executing', 'cancelling'),
    ...answers('paused_executing'),
    ToolCallSettled: ['paused_executing'],
    LeaseExpired: ['paused_executing'],
    ToolBatchSettled: ['paused_generating', 'paused_executing', ...END],
    RunResumed: ['executing'],
    'user.interrupt': ['interrupting', ...END],
    RunCancelled: ['cancelling', ...STOP],
    RunFailed: ['cancelling', ...STOP],
  },
  interrupting: {
    FollowUpQueued: ['interrupting'],
    ToolCallSettled: ['interrupting', ...END],
    LeaseExpired: ['interrupting', ...END],
    RunCancelled: ['cancelling'],
    RunFailed: ['cancelling'],
  },
  cancelling: {
    FollowUpQueued: ['cancelling'],
    ToolCallSettled: ['cancelling', ...STOP],
    LeaseExpired: ['cancelling', ...STOP],
  },
} as const satisfies Readonly<Record<Phase, Partial<Readonly<Record<IngressKind, readonly Phase[]>>>>>;

/** All phases, in declared order. */
export const PHASES = Object.keys(RUN_TRANSITIONS) as readonly Phase[];

/** The phases an event may lead to; null when the phase does not allow the event. */
export function transitionsOf(phase: Phase, kind: IngressKind): readonly Phase[] | null {
  const row: Partial<Readonly<Record<IngressKind, readonly Phase[]>>> = RUN_TRANSITIONS[phase];
  return row[kind] ?? null;
}

/** Whether the table decides in which phases a kind is admitted. A kind with `false` is admitted in every phase. */
const PHASE_BOUND: Readonly<Record<IngressKind, boolean>> = {
  RunRequested: true,
  ToolCallsObserved: true,
  GenerateFailed: true,
  ContextCompacted: true,
  CompactFailed: true,
  ToolCallStarted: true,
  ToolCallSettled: true,
  ToolBatchSettled: true,
  LeaseExpired: true,
  CallPreviewed: true,
  ToolCallNoted: true,
  ToolCallAsked: true,
  HostSessionUpdated: false,
  ToolRegistrySet: false,
  ToolsetSet: false,
  ToolsetApproved: false,
  ToolsetRemoved: false,
  ToolProfileSelected: false,
  ToolOverridesSet: false,
  SessionConfigured: false,
  RunSteered: true,
  FollowUpQueued: true,
  RunPaused: true,
  RunResumed: true,
  RunCancelled: true,
  RunCompleted: true,
  RunFailed: true,
  ConsentPolicySet: false,
  RulesAdopted: true,
  'user.tool_confirmation': true,
  'user.custom_tool_result': true,
  'user.elicitation_result': true,
  'user.interrupt': true,
  UndoRequested: false,
  UndoSettled: false,
  TimeReached: false,
};

/** The kinds that are admitted only in the phases that list them. */
export const PHASE_BOUND_KINDS: ReadonlySet<IngressKind> = new Set(
  (Object.keys(PHASE_BOUND) as readonly IngressKind[]).filter((kind) => PHASE_BOUND[kind]),
);

export const phaseOf = (state: { readonly run: { readonly phase: RunPhase } | null }): Phase =>
  state.run?.phase ?? 'idle';
