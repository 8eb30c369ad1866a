// The log lines of a bridge: one flat JSON object each.
import type { BatchId, CallId, RunId, SessionId, ToolId } from '../schemas/ids.ts';
import type { CallOutcome } from '../schemas/tool-call.ts';
import { MESSAGE_CHARS_MAX } from '../schemas/limits.ts';
import type { Usage } from '../schemas/run.ts';

interface CallIds {
  /** The session of the call. */
  readonly session_id: SessionId;
  /** The calls of one turn. */
  readonly batch_id: BatchId;
  /** Unique in its batch. */
  readonly call_id: CallId;
  /** The tool, by its id. */
  readonly tool_id: ToolId;
}

interface TurnIds {
  /** The session of the turn. */
  readonly session_id: SessionId;
  /** The run of the turn. */
  readonly run_id: RunId;
  /** Counts from 1 in each run. */
  readonly turn: number;
}

export type BridgeLogLine =
  | (CallIds & {
      readonly event: 'call_started';
      /** Its group of the plan, from 0: calls of one group may run together. */
      readonly group: number;
      /** Counts from 1. */
      readonly attempt: number;
    })
  | (CallIds & {
      readonly event: 'call_settled';
      /** How the call ended. */
      readonly outcome: CallOutcome;
      /** A stable code of the failure. */
      readonly code?: string;
      /** The message of the error that the tool threw. */
      readonly error?: string;
      /** How long it took, in milliseconds. */
      readonly duration_ms: number;
    })
  | (CallIds & {
      readonly event: 'call_previewed';
      /** How many files the call would change. */
      readonly files?: number;
      /** Why there is no preview. */
      readonly code?: string;
    })
  | (CallIds & {
      readonly event: 'call_asked';
      /** Its attempt ended with the question; otherwise it runs on. */
      readonly ends: boolean;
    })
  | (CallIds & {
      readonly event: 'call_dropped';
      /** The reason, for people. */
      readonly why: string;
    })
  | (TurnIds & {
      readonly event: 'generate_started';
      /** How many messages the model was sent. */
      readonly messages: number;
      /** How many tools it was offered. */
      readonly tools: number;
    })
  | (TurnIds & {
      readonly event: 'generate_settled';
      /** How many calls it made. */
      readonly calls: number;
      /** How long it took, in milliseconds. */
      readonly duration_ms: number;
      /** The tokens that it used, where the provider tells. */
      readonly usage?: Usage;
    })
  | (TurnIds & {
      readonly event: 'compact_started';
      /** How many messages the model was sent. */
      readonly messages: number;
    })
  | (TurnIds & {
      readonly event: 'compact_settled';
      /** How long it took, in milliseconds. */
      readonly duration_ms: number;
    })
  | (TurnIds & {
      readonly event: 'compact_failed';
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
      /** How long it took, in milliseconds. */
      readonly duration_ms: number;
    })
  /** The parts of a turn are not recorded; text and calls are. */
  | (TurnIds & {
      readonly event: 'layout_dropped';
      /** The reason, for people. */
      readonly why: string;
    })
  | (TurnIds & {
      readonly event: 'generate_failed';
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
      /** How long it took, in milliseconds. */
      readonly duration_ms: number;
    })
  | {
      readonly event: 'host_session';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** The status of the host session. */
      readonly status: string;
      /** More about it, for people. */
      readonly detail?: string;
    }
  | {
      readonly event: 'undone';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** The call that was undone. */
      readonly call_id: CallId;
      /** Whether the files were put back. */
      readonly success: boolean;
      /** What happened, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'toolset_set';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** The name of the toolset. */
      readonly toolset: string;
      /** How many tools it has now. */
      readonly tools: number;
    }
  | {
      readonly event: 'toolset_refused';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** The name of the toolset. */
      readonly toolset: string;
      /** The id of the tool that is left out for it; absent when the whole toolset is not set. */
      readonly left_out?: ToolId;
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'report_refused';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** The kind of the event that was refused. */
      readonly kind: string;
      /** Its id. */
      readonly event_id: string;
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'lease_lost';
      /** The session that it concerns. */
      readonly session_id: SessionId;
      /** What was leased. */
      readonly effect_id: string;
    }
  | {
      readonly event: 'reconnecting';
      /** The request that was not answered. */
      readonly during: string;
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'reconnected';
      /** The request that was not answered. */
      readonly during: string;
    }
  | {
      readonly event: 'recovered';
      /** The name of the dead bridge. */
      readonly owner: string;
      /** How many of its calls were reported as ended. */
      readonly settled: number;
      /** How many were given back. */
      readonly unsettled: number;
    }
  | {
      readonly event: 'recovery_refused';
      /** The name of the dead bridge. */
      readonly owner: string;
      /** A stable code of the failure. */
      readonly code: string;
      /** What happened, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'mcp_server_ready';
      /** The name of the server in the configuration. */
      readonly server: string;
      /** How many of its tools are used. */
      readonly tools: number;
      /** The version of the protocol that it speaks. */
      readonly protocol: string;
      /** How a local server is confined. */
      readonly sandbox?: 'bwrap' | 'none';
    }
  | {
      readonly event: 'mcp_server_unavailable';
      /** The name of the server in the configuration. */
      readonly server: string;
      /** The reason, for people. */
      readonly why: string;
      /** When it is started again, in milliseconds from now. */
      readonly retry_ms: number;
    }
  | {
      readonly event: 'mcp_tool_left_out';
      /** The name of the server in the configuration. */
      readonly server: string;
      /** The tool, by its name at the server. */
      readonly tool: string;
      /** The reason, for people. */
      readonly why: string;
    }
  | {
      readonly event: 'mcp_config_fault';
      /** The configuration file. */
      readonly file: string;
      /** Where in it, as a JSON pointer (RFC 6901). */
      readonly at: string;
      /** What is wrong there, for people. */
      readonly message: string;
    }
  | {
      readonly event: 'stopping';
      /** How much work is being stopped. */
      readonly running: number;
    };

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
