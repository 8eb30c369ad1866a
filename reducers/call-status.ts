// The life of one call as a table: which event may move it from which status to which (docs/design.md, "The batch"). A
// terminal status has no transitions, so a call settles once (docs/design.md, law 4).
import type { IngressKind } from '../schemas/event.ts';
import type { CallStatus } from '../schemas/state.ts';

/** What may refuse a call that has not started, or have it ask a person: changes of what is allowed. */
const reconsidered = <To extends CallStatus>(...to: readonly To[]) =>
  ({
    ConsentPolicySet: to,
    ToolRegistrySet: to,
    ToolsetSet: to,
    ToolsetApproved: to,
    ToolsetRemoved: to,
    ToolProfileSelected: to,
    ToolOverridesSet: to,
    SessionConfigured: to,
    HostSessionUpdated: to,
  }) as const;

export const CALL_TRANSITIONS = {
  waiting: {
    ...reconsidered('rejected'),
    // Another call, or the time, may close the host session.
    ToolCallSettled: ['rejected'],
    'user.tool_confirmation': ['queued', 'denied'],
    // The answer to what the call asked: its next attempt is judged by what is allowed then.
    'user.elicitation_result': ['queued', 'rejected', 'waiting'],
    'user.interrupt': ['cancelled'],
    TimeReached: ['rejected', 'denied', 'cancelled', 'queued', 'waiting'],
    RunCancelled: ['cancelled'],
    RunFailed: ['cancelled'],
  },
  queued: {
    ...reconsidered('rejected', 'waiting'),
    ToolCallStarted: ['running'],
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown', 'queued', 'rejected', 'waiting'],
    'user.custom_tool_result': ['succeeded', 'failed'],
    'user.interrupt': ['cancelled'],
    TimeReached: ['rejected', 'waiting', 'failed', 'cancelled'],
    RunCancelled: ['cancelled'],
    RunFailed: ['cancelled'],
  },
  running: {
    // Its next attempt is judged by what is allowed then.
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown', 'queued', 'rejected', 'waiting'],
    'user.interrupt': ['running', 'unknown'],
    LeaseExpired: ['queued', 'unknown', 'cancelled', 'rejected', 'waiting'],
    ToolCallNoted: ['running'],
    // A denied call is not left to wait for an answer.
    ToolCallAsked: ['running', 'waiting', 'rejected'],
    'user.elicitation_result': ['running'],
  },
  succeeded: {},
  failed: {},
  rejected: {},
  denied: {},
  cancelled: {},
  unknown: {},
} as const satisfies Readonly<Record<CallStatus, Partial<Readonly<Record<IngressKind, readonly CallStatus[]>>>>>;

export const CALL_STATUSES = Object.keys(CALL_TRANSITIONS) as readonly CallStatus[];

/** True when the status has no transitions. */
export const isTerminal = (status: CallStatus): boolean =>
  status !== 'queued' && status !== 'running' && status !== 'waiting';
