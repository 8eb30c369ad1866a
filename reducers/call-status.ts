// The life of one call as a table: which event may move it from which status to which (docs/design.md, "The batch"). A
// terminal status has no transitions, so a call settles once (docs/design.md, law 4).
import type { IngressKind } from '../schemas/event.ts';
import type { CallStatus } from '../schemas/state.ts';

export const CALL_TRANSITIONS = {
  waiting: {
    'user.tool_confirmation': ['queued', 'denied'],
    'user.interrupt': ['cancelled'],
    TimeReached: ['denied', 'cancelled'],
    RunCancelled: ['cancelled'],
    RunFailed: ['cancelled'],
  },
  queued: {
    ToolCallStarted: ['running'],
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown', 'queued'],
    'user.custom_tool_result': ['succeeded', 'failed'],
    'user.interrupt': ['cancelled'],
    TimeReached: ['failed', 'cancelled'],
    RunCancelled: ['cancelled'],
    RunFailed: ['cancelled'],
  },
  running: {
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown', 'queued'],
    'user.interrupt': ['running', 'unknown'],
    LeaseExpired: ['queued', 'unknown', 'cancelled'],
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
