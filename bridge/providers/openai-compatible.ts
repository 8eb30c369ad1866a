// Chat Completions over HTTP, as OpenAI and many others serve it. Streams where the server does, and takes a whole
// answer where it does not. A fault that may pass is reported as one: whether and when to ask again is the run's policy.
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
import { type GenerateReply, type GenerateRequest, type Provider, ProviderError } from './provider.ts';

export interface OpenAiOptions {
  /** Up to and without `/chat/completions`, e.g. `https://api.openai.com/v1`. */
  readonly baseUrl: string;
  /** Sent as bearer token; never logged, and cut out of whatever the server says. */
  readonly apiKey?: string;
  /** Asked instead of the model that the run names. */
  readonly model?: string;
  /** Asked when the run names none. */
  readonly fallbackModel?: string;
  /** Longest silence of the server, before and within an answer. */
  readonly silenceMs?: number;
  readonly clock: Pick<BridgeClock, 'now' | 'after'>;
}

/** An attempt that failed, and whether the server might answer in one piece. */
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

/** Throws a TypeError when the base URL can be none. */
export function openAiCompatible(options: OpenAiOptions): Provider {
  if (!isHttpUrl(options.baseUrl)) {
    throw new TypeError('baseUrl must be an http or https URL such as https://api.openai.com/v1');
  }
  return {
    async generate(request, signal) {
      let answer = await tryOnce(options, request, { stream: true, signal });
      if (answer instanceof AttemptFailed && answer.withoutStream && !signal.aborted) {
        answer = await tryOnce(options, request, { stream: false, signal });
      }
      if (!(answer instanceof AttemptFailed)) return answer;
      if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
      throw toTell(answer.fault, options.apiKey);
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
  try {
    const response = await fetch(`${options.baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: headersOf(options),
      body: JSON.stringify(chatRequest(request, { ...styleOf(options, request), stream })),
      signal: AbortSignal.any([signal, silence.signal]),
    });
    silence.heard();
    if (!response.ok) return await refused(response, silence, options);
    return await readReply(response, silence);
  } catch (error) {
    if (error instanceof AttemptFailed) return error;
    if (error instanceof ProviderError) return new AttemptFailed(error);
    const message = silence.signal.aborted ? 'the server was silent for too long' : networkMessage(error);
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

const styleOf = ({ baseUrl, model, fallbackModel }: OpenAiOptions, request: GenerateRequest) =>
  ({
    model: model ?? (request.model === MODEL_UNNAMED ? (fallbackModel ?? request.model) : request.model),
    tokensField: /\.(openai|azure)\.com/.test(baseUrl) ? 'max_completion_tokens' : 'max_tokens',
  }) as const;

interface Silence {
  readonly signal: AbortSignal;
  heard(): void;
  end(): void;
}

function watchSilence({ clock, silenceMs = PROVIDER_SILENCE_MS_DEFAULT }: OpenAiOptions): Silence {
  const controller = new AbortController();
  const start = (): (() => void) => clock.after(silenceMs, () => controller.abort());
  let cancel = start();
  return {
    signal: controller.signal,
    heard() {
      cancel();
      cancel = start();
    },
    end: () => cancel(),
  };
}

async function refused(response: Response, silence: Silence, { clock }: OpenAiOptions): Promise<AttemptFailed> {
  let text = '';
  // Only the beginning of an error matters, and one that breaks off is an error all the same.
  try {
    for await (const part of readText(response, silence)) {
      text += part;
      if (text.length > ERROR_BYTES_MAX) break;
    }
  } catch {
    text ||= 'an error that broke off';
  }
  const fault = errorOfBody(parsed(text) ?? text, response.status);
  const told = new ProviderError(fault.code, fault.message, retryAfter(response.headers, clock.now()));
  return new AttemptFailed(told, refusesToStream(response.status, fault));
}

/** RFC 9110 section 10.2.3: seconds or a date; and the milliseconds that some servers send beside it. */
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
    // Servers send either under any content type: an object begins with a brace, and no line of a stream does.
    if (whole === null && start.trim() !== '') whole = start.trimStart().startsWith('{');
    // Nothing comes after it, though some servers keep the line open, and some drop it.
    if (stream.isClosed()) break;
  }
  stream.feed('\n\n');
  if (whole === true) assembler.add(parsed(start));
  if (stream.isClosed() || assembler.isFinished()) return assembler.reply();
  throw new ProviderError('provider_retryable', 'the answer broke off');
}

function newStreamReader(assembler: ReplyAssembler) {
  let closed = false;
  const parser = createParser({
    onEvent({ event, data }) {
      if (event === 'error') throw errorOfBody(parsed(data) ?? data, null);
      closed ||= data.trim() === '[DONE]';
      if (data.trim() === '' || closed) return;
      // Going on without a chunk might leave arguments that are whole JSON and yet not what the model wrote.
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
      throw new ProviderError('provider_terminal', `an answer of over ${REPLY_BYTES_MAX} bytes`);
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

// `fetch failed` says nothing; its cause does.
function networkMessage(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  return `the server cannot be reached: ${messageOf(cause ?? error)}`;
}

/** A fault as it may be recorded: without the key, and cut only after that, so that no part of one is left. */
function toTell({ code, message, retryAfterMs }: ProviderError, apiKey: string | undefined): ProviderError {
  const said = apiKey === undefined || apiKey === '' ? message : message.replaceAll(apiKey, '‹key›');
  return new ProviderError(code, clip(said), retryAfterMs);
}
