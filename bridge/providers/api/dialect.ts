// What one API of models is to the bridge: how a request is written, how a stream becomes the API's own final form, and how
// that form is read. A dialect is pure: it uses no clock and no network (bridge/providers/api/api-provider.ts does).
import type { ModelApi } from '../../../schemas/model-turn.ts';
import type { Steps } from '../../../src/core/steps.ts';
import type { GenerateReply, GenerateRequest, ProviderError, ReplyDelta } from '../provider.ts';
import { type ExactJson, parseExact } from './exact-json.ts';

export interface Dialect {
  readonly api: ModelApi;
  /** How a stream of it is framed: server-sent events, or AWS binary event stream messages. */
  readonly framing: 'sse' | 'aws';
  /** The request. The same request and target always give the same bytes. Throws a ProviderError when it cannot be written. */
  encode(request: GenerateRequest, target: RequestTarget): WireRequest;
  newFold(): StreamFold;
  /**
   * Reads the final form, streamed or plain. Throws a {@link ProviderError}: `provider_retryable` for an answer that is
   * none, an error inside a 200 as {@link Dialect.errorOf} reads it. Answers of usual sizes take one step.
   */
  read(final: ExactJson): Steps<GenerateReply>;
  /**
   * The error in a body or an event. `status` is null when it came inside a 200. `body` is the text when it is not JSON.
   * The message is whole: the caller clips it and cuts keys out.
   */
  errorOf(body: ExactJson, status: number | null): ProviderError;
}

/** Most blocks, calls or events of an answer that are put together or read in one step. */
const ITEMS_A_STEP = 1_024;

/** True when a step ends after the item with this index. */
export const endsStep = (index: number): boolean => index % ITEMS_A_STEP === ITEMS_A_STEP - 1;

export interface RequestTarget {
  /** The model to name: the options' own, or the run's. */
  readonly model: string;
  /** Without the path of the request. */
  readonly baseUrl: string;
  /** Whether the answer is to be streamed. */
  readonly stream: boolean;
}

export interface WireRequest {
  /** Appended to the base URL, with a leading slash; may hold a query, never a key. */
  readonly path: string;
  /** Without those that hold a key, and without content-type. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text. */
  readonly body: string;
}

/** One event of a stream: its name (of SSE or of AWS headers; null when it has none), and its data. */
export interface StreamEvent {
  readonly name: string | null;
  readonly data: string;
  /** The data, when they were long and have been parsed: `parseEvent` gives it. */
  readonly json?: ExactJson;
}

/** The data of an event. Throws as `parseExact` does. */
export const parseEvent = ({ data, json }: StreamEvent): ExactJson => json ?? parseExact(data);

/** Folds the events of one stream. */
export interface StreamFold {
  /**
   * Adds an event; returns what it lets a person read, in order. Throws a {@link ProviderError} when it is an error, or cannot
   * be read: a part that was skipped might leave arguments that are JSON, but not what the model wrote.
   */
  add(event: StreamEvent): readonly ReplyDelta[];
  /** The end marker has come: nothing that follows matters. */
  isClosed(): boolean;
  /** The final form, as the API answers without a stream; null when the stream has not come to its end marker. */
  final(): Steps<ExactJson | null>;
}
