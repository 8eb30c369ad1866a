// The events of a client stream (September, "What a tool call looks like in the SSE stream"). Fields that a source has keep
// its names; times are milliseconds since 1970.
import type { BlobText } from '../../../schemas/content.ts';
import type { BatchId, CallId, Digest, EffectId, RunId, SessionId } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import type { RunOutcome, Usage } from '../../../schemas/run.ts';

/** A text; or, when it is long, the blob that holds it. */
export type StreamedText = string | BlobText;

/** The arguments of a call: an object; the blob that holds one; or the text of a model that is no JSON object. */
export type StreamedInput = JsonObject | BlobText | string;

interface Fields {
  /**
   * A run begins or has ended. `task_id` is the session and `turn_id` the run. `errored`: the run has failed; one that was
   * cancelled or interrupted is `completed`, and `outcome` says which.
   */
  thread_lifecycle: {
    readonly phase: 'started' | 'completed' | 'errored';
    readonly task_id: SessionId;
    readonly turn_id: RunId;
    readonly timestamp: number;
    readonly outcome?: RunOutcome;
  };
  /** A block of a turn begins; when it is open already, it begins anew. The text is block 0, the calls follow from 1 on. */
  content_block_start: ContentBlock;
  content_block_stop: ContentBlock;
  /** More of the text of the open block. */
  text_delta: { readonly text: StreamedText };
  /** What the model thinks. Never recorded. */
  thinking_delta: { readonly text: string };
  tool_call: { readonly tool: string; readonly tool_call_id: CallId; readonly input: StreamedInput };
  /** `output` is what the model reads. `error`: why the call did not succeed, as a stable code; null when it did. */
  tool_result: {
    readonly tool: string;
    readonly tool_call_id: CallId;
    readonly output: StreamedText;
    readonly error: string | null;
  };
  /** A person is asked for a permission, or for the result of a call that a person makes. */
  hitl_request: {
    readonly request_id: EffectId;
    readonly task_id: SessionId;
    readonly kind: 'permission' | 'question';
    readonly question: string;
    readonly created_at: number;
    readonly tool: string;
    readonly tool_call_id: CallId;
    readonly input: StreamedInput;
    /** With the next, what an answer names. */
    readonly batch_id: BatchId;
    readonly arguments_digest: Digest;
    readonly expires_at?: number;
  };
  /** The question is closed. `answer`: `yes`, `no`, or the result that a person gave; null when nobody answered this question. */
  hitl_resolved: {
    readonly request_id: EffectId;
    readonly task_id: SessionId;
    readonly tool_call_id: CallId;
    readonly answer: StreamedText | null;
  };
  /** The tokens of one answer of a model. */
  usage: Usage;
  /** The server is alive. Only the server sends it, without an id. */
  heartbeat: Readonly<Record<string, never>>;
  /** Why a run has failed, before its `thread_lifecycle`; or why the stream ends here, without an id and with nothing after it. */
  error: { readonly error: string; readonly message: string; readonly details?: { readonly path: string } };
}

export interface ContentBlock {
  readonly block_index: number;
  readonly block_type: 'text' | 'tool_use';
}

/** One event of a client stream: its name, and what it says. */
export type ClientEvent = {
  readonly [Name in keyof Fields]: { readonly event: Name; readonly data: Fields[Name] };
}[keyof Fields];

/** An event with its name and, when it is made from the record, its id: a position, or a position and a number within it. */
export type StreamedEvent = ClientEvent & { readonly id?: string };
