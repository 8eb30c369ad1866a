// The provider port: a model is sent a whole conversation, and answers with text, calls, or both.
import type { OfferedTool } from '../../schemas/effect.ts';
import type { Digest, RunId, SessionId } from '../../schemas/ids.ts';
import type { Json } from '../../schemas/json.ts';
import type { ExchangeTarget, LayoutApi, LayoutPart, Stop } from '../../schemas/model-turn.ts';
import type { Reasoning, ToolChoice, Usage } from '../../schemas/run.ts';

export type Message =
  | {
      readonly role: 'user';
      /** What the user wrote. */
      readonly text: string;
      /** Images and PDFs that go with it. */
      readonly attachments?: readonly MessageAttachment[];
    }
  | AssistantMessage
  | ToolMessage;

export interface AssistantMessage {
  readonly role: 'assistant';
  /** What the model wrote; empty when it only made calls. */
  readonly text: string;
  /** Its calls, in order. */
  readonly calls: readonly MessageCall[];
  /** The parts of the turn in order; absent when they are not known or do not fit the text and the calls. */
  readonly layout?: ReplyLayout;
}

/** The result of a call. `call_id` is the `id` of the {@link MessageCall}. */
export interface ToolMessage {
  readonly role: 'tool';
  /** The `id` of the call. */
  readonly call_id: string;
  /** The tool, as the model named it. */
  readonly name: string;
  /** What the model reads of the result. */
  readonly text: string;
  /** The call did not succeed. */
  readonly is_error: boolean;
  /** Images and PDFs that go with it. */
  readonly attachments?: readonly MessageAttachment[];
}

/** An image or a PDF that goes to the model with a message. */
export interface MessageAttachment {
  /** Such as `image/png` or `application/pdf`. */
  readonly media_type: string;
  /** The name of its file. */
  readonly name?: string;
  /** Its content. */
  readonly bytes: Uint8Array;
}

/** A call the model made earlier. `arguments` is its text, which may be invalid JSON. */
export interface MessageCall {
  /** Unique among the calls of its message. */
  readonly id: string;
  /** The provider's own id, where `id` differs from it. */
  readonly provider_id?: string;
  /** The tool, as the model named it. */
  readonly name: string;
  /** The text of the arguments, as the model wrote it. */
  readonly arguments: string;
}

/** The parts of a turn, and the API and model that wrote them. */
export interface ReplyLayout {
  /** The API whose parts they are. */
  readonly api: LayoutApi;
  /** The model that wrote them, as the API names it. */
  readonly model: string;
  /** Their texts are as long as the turn's text in total, and they name each of its calls once, in order. */
  readonly parts: readonly LayoutPart[];
}

export interface GenerateRequest {
  /** The session that asks. */
  readonly session_id: SessionId;
  /** The run that asks. */
  readonly run_id: RunId;
  /** Counts from 1 in each run. */
  readonly turn: number;
  /** As the config of the run names it; it chooses the profile of tools. */
  readonly provider: string;
  /** As the config of the run names it. */
  readonly model: string;
  /** The system prompt. */
  readonly instructions: string | null;
  /** The most tokens of the answer; null for the default of the model. */
  readonly output_tokens_max: number | null;
  /** The tools that the model may call, in order. */
  readonly tools: readonly OfferedTool[];
  /** The conversation, oldest first. */
  readonly messages: readonly Message[];
  /** Whether it must call a tool, and which; its own choice when absent. */
  readonly tool_choice?: ToolChoice | null;
  /** Whether it may make several calls in a turn; the default of the model when absent. */
  readonly parallel_calls?: boolean | null;
  /** How much it thinks, and whether it tells; the default of the model when absent. */
  readonly reasoning?: Reasoning | null;
  /** The sampling temperature; the default of the model when absent. */
  readonly temperature?: number | null;
}

/** A call as the model made it: `arguments_text` as received, or `arguments` when they are a value. */
export interface ReplyCall {
  /** The id of the provider; one is made when it is absent. */
  readonly id?: string;
  /** The tool, as the model named it. */
  readonly name: string;
  /** The arguments as text; it may be invalid JSON. */
  readonly arguments_text?: string;
  /** The arguments as a value. */
  readonly arguments?: Json;
}

/** Text, calls, or both; without calls the turn ends. A reply that does not fit this type ends the run with the reason. */
export interface GenerateReply {
  /** What the model wrote; absent when it only made calls. */
  readonly content?: string;
  /** Its calls, in order. */
  readonly calls: readonly ReplyCall[];
  /** The tokens that it used; absent when the provider does not tell. */
  readonly usage?: Usage;
  /** Absent when the provider does not say why it stopped. */
  readonly stop?: Stop;
  /** The parts of the turn in order, for a provider that sends them back later. */
  readonly layout?: ReplyLayout;
  /** What went over the wire, when the provider can tell; the bridge records it as evidence. */
  readonly exchange?: ProviderExchange;
}

/** What went over the wire for one answer. The provider has cut its own key out of it; the bridge cuts out what it knows. */
export interface ProviderExchange {
  /** What wrote the request, with its version, such as `anthropic.messages/1`. */
  readonly encoder: string;
  /** The digest of the exact body that was sent. */
  readonly request: Digest;
  /** Where it was sent. */
  readonly target: ExchangeTarget;
  /** As received, as far as it was read: at most REPLY_BYTES_MAX. Null when nothing came, or a key came in pieces. */
  readonly response: Uint8Array | null;
  readonly response_redacted?: true;
}

/** What a model has written since the last delta: for people to watch, never for the record. */
export interface ReplyDelta {
  /** Part of the answer, or of what the model thinks first. */
  readonly kind: 'text' | 'thinking';
  /** The next characters. */
  readonly text: string;
}

export interface Provider {
  /**
   * Throws a {@link ProviderError} when there is no answer. The bridge imposes no time limit: only the signal ends the
   * request; it aborts when the answer is no longer needed. `onDelta` is called with each part as it arrives, if the
   * provider streams.
   */
  generate(
    request: GenerateRequest,
    signal: AbortSignal,
    onDelta?: (delta: ReplyDelta) => void,
  ): Promise<GenerateReply>;
}

export const PROVIDER_ERROR_CODES = [
  'provider_retryable',
  'provider_terminal',
  'provider_auth',
  'provider_quota',
  'invalid_request',
  'context_length',
  'recording_exhausted',
  'recording_differs',
  'cancelled',
] as const;
export type ProviderErrorCode = (typeof PROVIDER_ERROR_CODES)[number];

/**
 * Why a model gave no answer. Only `provider_retryable` is retried, as the run's `retry` policy says. Any other error that
 * a provider throws ends the run as `provider_terminal`. The message is for people, and must not contain a key.
 */
export class ProviderError extends Error {
  override readonly name = 'ProviderError';
  /** What kind of failure it is; it decides whether the request is retried. */
  readonly code: ProviderErrorCode;
  /**
   * How long the server asks to wait before the next request, in milliseconds; null when it does not state a time. More than a day
   * counts as a day, and an invalid number as null.
   */
  readonly retryAfterMs: number | null;
  /** What went over the wire, as far as it did; null when the provider cannot tell. */
  readonly exchange: ProviderExchange | null;

  constructor(
    code: ProviderErrorCode,
    message: string,
    retryAfterMs: number | null = null,
    exchange: ProviderExchange | null = null,
  ) {
    super(message);
    this.code = code;
    this.retryAfterMs = retryAfterMs;
    this.exchange = exchange;
  }
}
