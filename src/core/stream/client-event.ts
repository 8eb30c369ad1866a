// The events of a client stream (September, "What a tool call looks like in the SSE stream"). Fields that a source has keep
// its names; times are milliseconds since 1970.
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import type { BlobText } from '../../../schemas/content.ts';
import type { BatchId, CallId, Digest, EffectId, RunId, SessionId } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { RunOutcome, Usage } from '../../../schemas/run.ts';

/** A text; or, when it is long, the blob that holds it. */
export type StreamedText = string | BlobText;

/** The arguments of a call: an object; the blob that holds one; or the text of a model that is no JSON object. */
export type StreamedInput = JsonObject | BlobText | string;

/** A run begins or has ended. */
export interface LifecycleData {
  /** `errored`: the run has failed; one that was cancelled or interrupted is `completed`, and `outcome` says which. */
  readonly phase: 'started' | 'completed' | 'errored';
  /** The session. */
  readonly task_id: SessionId;
  /** The run. */
  readonly turn_id: RunId;
  /** When the fact behind it was received. */
  readonly timestamp: number;
  /** How the run ended; absent at its start. */
  readonly outcome?: RunOutcome;
}

/** A part of the turn of a model: its text, or one call. */
export interface ContentBlock {
  /** The text is block 0, the calls follow from 1 on. */
  readonly block_index: number;
  /** A text, or a call. */
  readonly block_type: 'text' | 'tool_use';
}

/** A call that a model makes, or a person in its place. */
export interface ToolCallData {
  /** The name of the tool. */
  readonly tool: string;
  /** The id of the call. */
  readonly tool_call_id: CallId;
  /** Its arguments. */
  readonly input: StreamedInput;
}

/** How a call ended. Each call has one. */
export interface ToolResultData {
  /** The name of the tool. */
  readonly tool: string;
  /** The id of the call. */
  readonly tool_call_id: CallId;
  /** What the model reads. */
  readonly output: StreamedText;
  /** Why the call did not succeed, as a stable code; null when it did. */
  readonly error: string | null;
}

/** A question to a person about a call: for a permission, or for the result of a call that a person makes. */
export interface HitlRequestData extends ToolCallData {
  /** The id of the question. A call may be asked about again once its question is closed. */
  readonly request_id: EffectId;
  /** The session. */
  readonly task_id: SessionId;
  /** A permission for the call, or its result; `elicitation`: what the call itself asks. */
  readonly kind: 'permission' | 'question' | 'elicitation';
  /** The question in words. */
  readonly question: string;
  /** When it was asked. */
  readonly created_at: number;
  /** The batch of the call: an answer names it. */
  readonly batch_id: BatchId;
  /** The digest of the exact arguments: an answer names it. */
  readonly arguments_digest: Digest;
  /** When the question expires; absent when it does not. */
  readonly expires_at?: number;
  /** What the call asks: its message, who asks, the schema of an answer, an address to show. Only of an `elicitation`. */
  readonly asked?: CallQuestion;
  /** The attempt that asks, and the digest of its question: an answer to an `elicitation` names both. */
  readonly attempt?: number;
  /** As `attempt`. */
  readonly question_digest?: Digest;
}

/** A question is closed. */
export interface HitlResolvedData {
  /** The id of the question. */
  readonly request_id: EffectId;
  /** The session. */
  readonly task_id: SessionId;
  /** The call that it was about. */
  readonly tool_call_id: CallId;
  /**
   * `yes`, `no`, or the result that a person gave; of an `elicitation` the content of the answer as JSON, `accept`, `decline` or
   * `cancel`. Null when nobody answered this question.
   */
  readonly answer: StreamedText | null;
}

/** Why a run has failed, before its end; or, without an id, why the stream ends here. */
export interface StreamErrorData {
  /** A stable code. */
  readonly error: string;
  /** What is wrong, for people. */
  readonly message: string;
  /** Of a stream that ends: the part of the request that is at fault. */
  readonly details?: {
    /** A JSON pointer, or empty. */
    readonly path: string;
  };
}

/** A piece of text. */
export interface TextData<Text extends StreamedText = StreamedText> {
  /** What comes after the text so far. */
  readonly text: Text;
}

/** What each event says. */
export interface ClientEventData {
  /** A run begins or has ended. */
  thread_lifecycle: LifecycleData;
  /** A block begins; when it is open already, it begins anew. */
  content_block_start: ContentBlock;
  /** A block is whole. */
  content_block_stop: ContentBlock;
  /** More of the text of the open block. */
  text_delta: TextData;
  /** What the model thinks. Never recorded. */
  thinking_delta: TextData<string>;
  /** A call. */
  tool_call: ToolCallData;
  /** How a call ended. */
  tool_result: ToolResultData;
  /** A person is asked. */
  hitl_request: HitlRequestData;
  /** A question is closed. */
  hitl_resolved: HitlResolvedData;
  /** The tokens of one answer of a model. */
  usage: Usage;
  /** The server is alive. Only the server sends it, without an id. */
  heartbeat: Readonly<Record<string, never>>;
  /** Why a run has failed, or why the stream ends. */
  error: StreamErrorData;
}

/** One event of a client stream: its name, and what it says. */
export type ClientEvent = {
  readonly [Name in keyof ClientEventData]: {
    /** Its name. */
    readonly event: Name;
    /** What it says. */
    readonly data: ClientEventData[Name];
  };
}[keyof ClientEventData];

/** An event with its id: a position, or a position and a number within it. Absent when it is not made from the record. */
export type StreamedEvent = ClientEvent & {
  /** Where a reader resumes. */
  readonly id?: string;
};
