// The life of one call as a table (DESIGN section 4, "Batch"). Terminal statuses have no way out: settle once.
import type { IngressKind } from '../schemas/event.ts';
import type { CallStatus } from '../schemas/state.ts';

export const CALL_TRANSITIONS = {
  queued: {
    ToolCallStarted: ['running'],
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown'],
    RunInterrupted: ['cancelled'],
    RunCancelled: ['cancelled'],
    RunFailed: ['cancelled'],
  },
  running: {
    ToolCallSettled: ['succeeded', 'failed', 'cancelled', 'unknown'],
    LeaseExpired: ['queued', 'unknown', 'cancelled'],
  },
  succeeded: {},
  failed: {},
  rejected: {},
  cancelled: {},
  unknown: {},
} as const satisfies Readonly<Record<CallStatus, Partial<Readonly<Record<IngressKind, readonly CallStatus[]>>>>>;

export const CALL_STATUSES = Object.keys(CALL_TRANSITIONS) as readonly CallStatus[];

/** True when nothing can happen to the call any more. */
export const isTerminal = (status: CallStatus): boolean => status !== 'queued' && status !== 'running';
