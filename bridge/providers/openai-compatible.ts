// Chat Completions over HTTP, as OpenAI and many other servers offer it. Streams if the server does, and accepts a whole
// answer if it does not. Transient faults are reported as such: the run's policy decides whether and when to retry.
import { createParser } from 'eventsource-parser';
import type { BridgeClock } from '../../src/clock.ts';
import { clip, messageOf } from '../log.ts';
import {
  ERROR_BYTES_MAX,
  PROVIDER_SILENCE_MS_DEFAULT,
  REPLY_BYTES_MAX,
  RETRY_CAP_MS_MAX,
} from '../../schemas/limits.ts';
import { MODEL_UNNAMED } from '../../schemas/run.ts';
import { isHttpUrl } from '../../src/client/http-url.ts';
import { errorOfBody, refusesToStream } from './openai-error.ts';
import { type ReplyAssembler, newReplyAssembler } from './openai-reply.ts';
import { chatRequest } from './openai-request.ts';
import { type Redactor, createRedactor } from '../secrets/redactor.ts';
import { type GenerateReply, type GenerateRequest, type Provider, ProviderError } from './provider.ts';

export interface OpenAiOptions {
  /** Without the final `/chat/completions`, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Sent as a bearer token; never logged, and removed from the server's error messages. */
  readonly apiKey?: string;
  /** Used instead of the model that the run names. */
  readonly model?: string;
  /** Used when the run names no model. */
  readonly fallbackModel?: string;
  /** The longest time without data from the server, before and during an answer, in milliseconds. */
  readonly silenceMs?: number;
  readonly clock: Pick<BridgeClock, 'now' | 'after'>;
}

/** An attempt that failed; `withoutStream`: the server may answer the same request when it is not asked to stream. */
class AttemptFailed extends Error {
  override readonly name = 'AttemptFailed';
  readonly fault: ProviderError;
  readonly withoutStream: boolean;

  constructor(fault: ProviderError, withoutStream = false) {
    super(fault.message);
    this.fault = fault;
    this.withoutStream = withoutStream;
  }
}

/** Throws a TypeError when the base URL is invalid. */
export function openAiCompatible(options: OpenAiOptions): Provider {
  if (!isHttpUrl(options.baseUrl)) {
    throw new TypeError('baseUrl must be an http or https URL such as https://api.openai.com/v1');
  }
  const keys = createRedactor(options.apiKey === undefined ? [] : [options.apiKey]);
  return {
    async generate(request, signal) {
      if (modelOf(options, request) === null) throw new ProviderError('provider_terminal', NO_MODEL);
      let answer = await tryOnce(options, request, { stream: true, signal });
      if (answer instanceof AttemptFailed && answer.withoutStream && !signal.aborted) {
        answer = await tryOnce(options, request, { stream: false, signal });
      }
      if (!(answer instanceof AttemptFailed)) return answer;
      if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
      throw withoutKey(answer.fault, keys);
    },
  };
}

interface Attempt {
  readonly stream: boolean;
  readonly signal: AbortSignal;
}

async function tryOnce(
  options: OpenAiOptions,
  request: GenerateRequest,
  { stream, signal }: Attempt,
): Promise<GenerateReply | AttemptFailed> {
  const silence = watchSilence(options);
  let answered = false;
  try {
    const response = await fetch(`${options.baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: headersOf(options),
      body: JSON.stringify(chatRequest(request, { ...styleOf(options, request), stream })),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    answered = true;
    silence.heard();
    if (!response.ok) return await readRefusal(response, silence, options);
    return await readReply(response, silence);
  } catch (error) {
    if (error instanceof AttemptFailed) return error;
    if (error instanceof ProviderError) return new AttemptFailed(error);
    const message = silence.signal.aborted ? silence.message : networkMessage(error, answered);
    return new AttemptFailed(new ProviderError('provider_retryable', message));
  } finally {
    silence.end();
  }
}

const headersOf = ({ apiKey }: OpenAiOptions): Record<string, string> => ({
  'content-type': 'application/json',
  accept: 'text/event-stream, application/json',
  ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
});

const NO_MODEL =
  'no model is named. Give `model` or `fallbackModel` to openAiCompatible, or `model` to the config of the session';

/** Null when neither the run nor the options name a model. */
const modelOf = ({ model, fallbackModel }: OpenAiOptions, request: GenerateRequest): string | null =>
  model ?? (request.model === MODEL_UNNAMED ? (fallbackModel ?? null) : request.model);

const styleOf = (options: OpenAiOptions, request: GenerateRequest) =>
  ({
    model: modelOf(options, request) ?? request.model,
    tokensField: /\.(openai|azure)\.com/.test(options.baseUrl) ? 'max_completion_tokens' : 'max_tokens',
  }) as const;

interface Silence {
  /** Aborts when the server has been silent for too long. */
  readonly signal: AbortSignal;
  readonly message: string;
  heard(): void;
  end(): void;
}

function watchSilence({ clock, silenceMs = PROVIDER_SILENCE_MS_DEFAULT }: OpenAiOptions): Silence {
  const controller = new AbortController();
  const start = (): (() => void) => clock.after(silenceMs, () => controller.abort());
  let cancel = start();
  return {
    signal: controller.signal,
    message: `the server sent no data for ${silenceMs} ms`,
    heard() {
      cancel();
      cancel = start();
    },
    end: () => cancel(),
  };
}

async function readRefusal(response: Response, silence: Silence, { clock }: OpenAiOptions): Promise<AttemptFailed> {
  let text = '';
  // Only the beginning of an error matters, and a truncated one is still an error.
  try {
    for await (const part of readText(response, silence)) {
      text += part;
      if (text.length > ERROR_BYTES_MAX) break;
    }
  } catch {
    text ||= 'the error message was not received';
  }
  const fault = errorOfBody(parsed(text) ?? text, response.status);
  const error = new ProviderError(fault.code, fault.message, retryAfter(response.headers, clock.now()));
  return new AttemptFailed(error, refusesToStream(response.status, fault));
}

/** RFC 9110 section 10.2.3: seconds or a date; some servers also send milliseconds in `retry-after-ms`. */
function retryAfter(headers: Headers, now: number): number | null {
  const precise = Number(headers.get('retry-after-ms') ?? Number.NaN);
  if (precise >= 0) return bounded(precise);
  const value = headers.get('retry-after');
  if (value === null) return null;
  const seconds = Number(value);
  if (seconds >= 0) return bounded(seconds * 1_000);
  const date = Date.parse(value);
  return Number.isNaN(date) ? null : bounded(date - now);
}

const bounded = (ms: number): number => Math.min(Math.max(0, Math.ceil(ms)), RETRY_CAP_MS_MAX);

async function readReply(response: Response, silence: Silence): Promise<GenerateReply> {
  const assembler = newReplyAssembler();
  const stream = newStreamReader(assembler);
  let start = '';
  let whole: boolean | null = null;
  for await (const part of readText(response, silence)) {
    if (whole !== true) stream.feed(part);
    if (whole !== false) start += part;
    // Servers send either form under any content type: an object begins with a brace, and no line of a stream does.
    if (whole === null && start.trim() !== '') whole = start.trimStart().startsWith('{');
    // Nothing follows `[DONE]`, though some servers keep the connection open, and some reset it.
    if (stream.isClosed()) break;
  }
  stream.feed('\n\n');
  if (whole === true) assembler.add(parsed(start));
  if (stream.isClosed() || assembler.isFinished()) return assembler.reply();
  throw new ProviderError('provider_retryable', 'the answer ended before it was complete');
}

function newStreamReader(assembler: ReplyAssembler) {
  let closed = false;
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'error') throw errorOfBody(parsed(data) ?? data, null);
      closed ||= data.trim() === '[DONE]';
      if (data.trim() === '' || closed) return;
      // An unreadable chunk must not be skipped: the arguments might still be valid JSON, but not what the model wrote.
      assembler.add(parsed(data));
    },
  });
  return { feed: (text: string) => parser.feed(text), isClosed: () => closed };
}

async function* readText(response: Response, silence: Silence): AsyncGenerator<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let bytes = 0;
  for await (const part of response.body as AsyncIterable<Uint8Array>) {
    silence.heard();
    bytes += part.length;
    if (bytes > REPLY_BYTES_MAX)
      throw new ProviderError('provider_terminal', `the answer is larger than ${REPLY_BYTES_MAX} bytes`);
    yield decoder.decode(part, { stream: true });
  }
  yield decoder.decode();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

// The message of the error itself is only `fetch failed`; the cause holds the reason.
function networkMessage(error: unknown, answered: boolean): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const what = answered ? 'the connection was lost in the middle of the answer' : 'cannot reach the server';
  return `${what}: ${messageOf(cause ?? error)}`;
}

/** A fault that may be recorded: without the key. The message is clipped after that, so that no part of the key remains. */
const withoutKey = ({ code, message, retryAfterMs }: ProviderError, keys: Redactor): ProviderError =>
  new ProviderError(code, clip(keys.text(message)), retryAfterMs);
