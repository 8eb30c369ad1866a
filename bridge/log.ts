// The log lines of a bridge: one flat JSON object each.
import type { BatchId, CallId, RunId, SessionId, ToolId } from '../schemas/ids.ts';
import type { CallOutcome } from '../schemas/tool-call.ts';
import { MESSAGE_CHARS_MAX } from '../schemas/limits.ts';
import type { Usage } from '../schemas/run.ts';

interface CallIds {
  readonly session_id: SessionId;
  readonly batch_id: BatchId;
  readonly call_id: CallId;
  readonly tool_id: ToolId;
}

interface TurnIds {
  readonly session_id: SessionId;
  readonly run_id: RunId;
  readonly turn: number;
}

export type BridgeLogLine =
  | (CallIds & { readonly event: 'call_started'; readonly group: number; readonly attempt: number })
  | (CallIds & {
      readonly event: 'call_settled';
      readonly outcome: CallOutcome;
      readonly code?: string;
      readonly error?: string;
      readonly duration_ms: number;
    })
  | (CallIds & { readonly event: 'call_dropped'; readonly why: string })
  | (TurnIds & { readonly event: 'generate_started'; readonly messages: number; readonly tools: number })
  | (TurnIds & {
      readonly event: 'generate_settled';
      readonly calls: number;
      readonly duration_ms: number;
      readonly usage?: Usage;
    })
  | (TurnIds & { readonly event: 'compact_started'; readonly messages: number })
  | (TurnIds & { readonly event: 'compact_settled'; readonly duration_ms: number })
  | (TurnIds & {
      readonly event: 'compact_failed';
      readonly code: string;
      readonly message: string;
      readonly duration_ms: number;
    })
  /** The parts of a turn are not recorded; text and calls are. */
  | (TurnIds & { readonly event: 'layout_dropped'; readonly why: string })
  | (TurnIds & {
      readonly event: 'generate_failed';
      readonly code: string;
      readonly message: string;
      readonly duration_ms: number;
    })
  | {
      readonly event: 'host_session';
      readonly session_id: SessionId;
      readonly status: string;
      readonly detail?: string;
    }
  | {
      readonly event: 'undone';
      readonly session_id: SessionId;
      readonly call_id: CallId;
      readonly success: boolean;
      readonly message: string;
    }
  | {
      readonly event: 'report_refused';
      readonly session_id: SessionId;
      readonly kind: string;
      readonly event_id: string;
      readonly code: string;
      readonly message: string;
    }
  | { readonly event: 'lease_lost'; readonly session_id: SessionId; readonly effect_id: string }
  | { readonly event: 'reconnecting'; readonly during: string; readonly code: string; readonly message: string }
  | { readonly event: 'reconnected'; readonly during: string }
  | { readonly event: 'recovered'; readonly owner: string; readonly settled: number; readonly unsettled: number }
  | { readonly event: 'recovery_refused'; readonly owner: string; readonly code: string; readonly message: string }
  | { readonly event: 'stopping'; readonly running: number };

export type Log = (line: BridgeLogLine) => void;

/** The message of any thrown value; never a stack. */
export function messageOf(error: unknown): string {
  try {
    const message = error instanceof Error ? error.message || error.name : String(error);
    return message === '' ? 'no message' : message;
  } catch {
    return 'an error without a readable message';
  }
}

/** Well-formed text of at most `MESSAGE_CHARS_MAX` UTF-16 units. */
export function clip(text: string, max: number = MESSAGE_CHARS_MAX): string {
  const formed = text.toWellFormed();
  return formed.length <= max ? formed : `${formed.slice(0, max - 2).toWellFormed()}…`;
}
