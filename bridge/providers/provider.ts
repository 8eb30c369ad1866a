// The provider port: a model is sent a whole conversation, and answers with text, calls, or both.
import type { OfferedTool } from '../../schemas/effect.ts';
import type { Digest, RunId, SessionId } from '../../schemas/ids.ts';
import type { Json } from '../../schemas/json.ts';
import type { ExchangeTarget, LayoutApi, LayoutPart, Stop } from '../../schemas/model-turn.ts';
import type { Reasoning, ToolChoice, Usage } from '../../schemas/run.ts';

export type Message =
  | { readonly role: 'user'; readonly text: string; readonly attachments?: readonly MessageAttachment[] }
  | AssistantMessage
  | ToolMessage;

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly text: string;
  readonly calls: readonly MessageCall[];
  /** The parts of the turn in order; absent when they are not known or do not fit the text and the calls. */
  readonly layout?: ReplyLayout;
}

/** The result of a call. `call_id` is the `id` of the {@link MessageCall}. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly call_id: string;
  readonly name: string;
  readonly text: string;
  readonly is_error: boolean;
  readonly attachments?: readonly MessageAttachment[];
}

/** An image or a PDF that goes to the model with a message. */
export interface MessageAttachment {
  /** Such as `image/png` or `application/pdf`. */
  readonly media_type: string;
  readonly name?: string;
  readonly bytes: Uint8Array;
}

/** A call the model made earlier. `arguments` is its text, which may be invalid JSON. */
export interface MessageCall {
  /** Unique among the calls of its message. */
  readonly id: string;
  /** The provider's own id, where `id` differs from it. */
  readonly provider_id?: string;
  readonly name: string;
  readonly arguments: string;
}

/** The parts of a turn, and the API and model that wrote them. */
export interface ReplyLayout {
  readonly api: LayoutApi;
  readonly model: string;
  /** Their texts are as long as the turn's text in total, and they name each of its calls once, in order. */
  readonly parts: readonly LayoutPart[];
}

export interface GenerateRequest {
  readonly session_id: SessionId;
  readonly run_id: RunId;
  /** Counts from 1 in each run. */
  readonly turn: number;
  readonly provider: string;
  readonly model: string;
  readonly instructions: string | null;
  readonly output_tokens_max: number | null;
  readonly tools: readonly OfferedTool[];
  readonly messages: readonly Message[];
  readonly tool_choice?: ToolChoice | null;
  readonly parallel_calls?: boolean | null;
  readonly reasoning?: Reasoning | null;
  readonly temperature?: number | null;
}

/** A call as the model made it: `arguments_text` as received, or `arguments` when they are a value. */
export interface ReplyCall {
  readonly id?: string;
  readonly name: string;
  readonly arguments_text?: string;
  readonly arguments?: Json;
}

/** Text, calls, or both; without calls the turn ends. A reply that does not fit this type ends the run with the reason. */
export interface GenerateReply {
  readonly content?: string;
  readonly calls: readonly ReplyCall[];
  readonly usage?: Usage;
  /** Absent when the provider does not say why it stopped. */
  readonly stop?: Stop;
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
  readonly target: ExchangeTarget;
  /** As received, as far as it was read: at most REPLY_BYTES_MAX. Null when nothing came, or a key came in pieces. */
  readonly response: Uint8Array | null;
  readonly response_redacted?: true;
}

/** What a model has written since the last delta: for people to watch, never for the record. */
export interface ReplyDelta {
  readonly kind: 'text' | 'thinking';
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
