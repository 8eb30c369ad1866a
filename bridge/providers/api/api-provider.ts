// A model behind HTTP: sends a request in a dialect, and reads the answer, streamed or not. Transient faults are reported as
// such: the run's policy decides whether and when to retry.
import { MODEL_SERVER_NAMES, type ModelServerName } from '../../../src/files/model-servers.ts';
import { MODEL_UNNAMED } from '../../../schemas/run.ts';
import type { BridgeClock } from '../../../src/clock.ts';
import { messageOf } from '../../log.ts';
import { inBreaths } from '../../secrets/breath.ts';
import { type Redactor, createRedactor } from '../../secrets/redactor.ts';
import {
  type GenerateReply,
  type GenerateRequest,
  type Provider,
  ProviderError,
  type ProviderExchange,
} from '../provider.ts';
import { type CollectedBytes, newCollectedBytes } from './collected-bytes.ts';
import type { Dialect } from './dialect.ts';
import { loadDialect } from './dialects.ts';
import { baseUrlFault, endpoint, redirectTarget } from './endpoint.ts';
import { type ExactJson, parseExact } from './exact-json.ts';
import { withHeaders } from './failure.ts';
import { keyHeaders } from './key-headers.ts';
import { type TakeDelta, readAnswer, readErrorText } from './read-body.ts';
import { costOf } from './refuse-costly.ts';
import { type Silence, watchSilence } from './silence.ts';
import { type WireBytes, encodeInSlices } from './wire-body.ts';
import { type WireAttempt, type WireExchange, settleExchange } from './wire-exchange.ts';
import { errorWithout, newDeltaGate, replyWithout } from './without-keys.ts';

export interface ApiProviderOptions {
  /** The API that the server speaks. */
  readonly api: ModelServerName;
  /** Without the path of a request, e.g. `https://api.openai.com/v1`; https, or http to this machine. */
  readonly baseUrl: string;
  /** Sent in a header only; never logged, and cut out of everything that the server sends. */
  readonly apiKey?: string;
  /** Used instead of the model that the run names. */
  readonly model?: string;
  /** Used when the run names no model. */
  readonly fallbackModel?: string;
  /** The longest time without data from the server, before and during an answer, in milliseconds. */
  readonly silenceMs?: number;
  /** Measures the silence of the server. */
  readonly clock: Pick<BridgeClock, 'now' | 'after'>;
  /** Used instead of `fetch`: a cassette answers from a file. */
  readonly transport?: (
    url: string,
    init: RequestInit & {
      /** JSON text. */
      readonly body: string;
    },
  ) => Promise<Response>;
  /** Called with each attempt that was sent, when it is over; the answer waits for it. */
  readonly onExchange?: (exchange: WireExchange) => Promise<void>;
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

/** Throws a TypeError when the API is not known, or the base URL is not safe. */
export function apiProvider(options: ApiProviderOptions): Provider {
  const { api, apiKey } = options;
  const fault = faultOf(options);
  if (fault !== null) throw new TypeError(fault);
  const keys = createRedactor(apiKey === undefined ? [] : [apiKey]);
  return {
    async generate(request, signal, onDelta = () => undefined) {
      const model = modelOf(options, request);
      if (model === null) throw new ProviderError('provider_terminal', NO_MODEL);
      const dialect = await loadDialect(api);
      const gate = newDeltaGate(keys, onDelta);
      const attempt = async (stream: boolean): Promise<Ended> => {
        const tried = await tryOnce({ options, dialect, keys, request, model, stream, signal, onDelta: gate.take });
        if (tried.sent === null || signal.aborted) return { answer: tried.answer, exchange: null };
        const { wire, exchange } = await settleExchange(tried.sent, keys);
        if (options.onExchange !== undefined) await options.onExchange(await wire());
        return { answer: tried.answer, exchange };
      };
      let ended = await attempt(true);
      const isRefused = ended.answer instanceof AttemptFailed && ended.answer.withoutStream;
      if (isRefused && !signal.aborted) ended = await attempt(false);
      const { answer, exchange } = ended;
      if (answer instanceof AttemptFailed) {
        if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
        throw errorWithout(answer.fault, keys, exchange);
      }
      gate.end();
      const reply = await replyWithout(answer, keys);
      if (exchange === null) return reply;
      // The answer held the key, but its bytes do not show it: it came in pieces.
      const isSpread = reply !== answer && exchange.response_redacted !== true;
      return { ...reply, exchange: isSpread ? { ...exchange, response: null, response_redacted: true } : exchange };
    },
  };
}

/** An attempt that is over, with what is recorded of it. */
interface Ended {
  readonly answer: GenerateReply | AttemptFailed;
  readonly exchange: ProviderExchange | null;
}

function faultOf({ api, baseUrl, apiKey }: ApiProviderOptions): string | null {
  if (!MODEL_SERVER_NAMES.includes(api)) return `api must be one of ${MODEL_SERVER_NAMES.join(', ')}`;
  const isHeaderText = apiKey === undefined || /^[\x21-\x7e]+$/.test(apiKey);
  return isHeaderText ? baseUrlFault(baseUrl) : 'apiKey must be printable ASCII characters without white space';
}

const NO_MODEL =
  'no model is named. Give `model` or `fallbackModel` to apiProvider, or `model` to the config of the session';

/** Null when neither the run nor the options name a model. */
const modelOf = ({ model, fallbackModel }: ApiProviderOptions, request: GenerateRequest): string | null =>
  model ?? (request.model === MODEL_UNNAMED ? (fallbackModel ?? null) : request.model);

interface Attempt {
  readonly options: ApiProviderOptions;
  readonly dialect: Dialect;
  readonly keys: Redactor;
  readonly request: GenerateRequest;
  readonly model: string;
  readonly stream: boolean;
  readonly signal: AbortSignal;
  readonly onDelta: TakeDelta;
}

/** What an attempt came to, and what it sent; null when the request could not be written. */
interface Tried {
  readonly answer: GenerateReply | AttemptFailed;
  readonly sent: WireAttempt | null;
}

async function tryOnce(attempt: Attempt): Promise<Tried> {
  const { options, dialect, request, model, stream } = attempt;
  const { api, baseUrl } = options;
  const target = { model, baseUrl, stream };
  let wire: WireBytes;
  try {
    wire = await encodeInSlices(dialect, request, target);
  } catch (error) {
    return { answer: new AttemptFailed(encodingFault(error)), sent: null };
  }
  const received = newCollectedBytes();
  const sent: WireAttempt = { api, target, body: wire.body, received, status: null, headers: null, lost: null };
  return { answer: await exchange(attempt, wire, sent), sent };
}

const encodingFault = (error: unknown): ProviderError =>
  error instanceof ProviderError
    ? error
    : new ProviderError('provider_terminal', `cannot write the request: ${messageOf(error)}`);

/** Sends the request and reads the answer; notes in `sent` what comes. */
async function exchange(attempt: Attempt, wire: WireBytes, sent: WireAttempt): Promise<GenerateReply | AttemptFailed> {
  const { options, dialect, model, signal, onDelta } = attempt;
  const silence = watchSilence(options, signal);
  const { received } = sent;
  const failed = (fault: ProviderError): AttemptFailed => {
    sent.lost = fault.message;
    return new AttemptFailed(fault);
  };
  try {
    const response = await send(options, wire, silence);
    sent.status = response.status;
    sent.headers = response.headers;
    silence.heard();
    if (!response.ok) return await readRefusal(response, { silence, received }, attempt);
    const final = await readAnswer(response, silence, dialect, { onDelta, received });
    return asked(model, await inBreaths(dialect.read(final)));
  } catch (error) {
    if (error instanceof ProviderError) return new AttemptFailed(error);
    if (silence.isOver()) return failed(new ProviderError('provider_retryable', silence.message));
    const answered = sent.status !== null;
    if (!answered || isNetworkError(error)) return failed(networkFault(error, answered));
    return new AttemptFailed(new ProviderError('provider_terminal', `cannot read the answer: ${messageOf(error)}`));
  } finally {
    silence.end();
  }
}

const send = ({ transport, ...options }: ApiProviderOptions, wire: WireBytes, silence: Silence) => {
  const init = {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...wire.headers,
      ...keyHeaders(options),
    },
    // A redirect would take the key and the conversation to a server that was not named.
    redirect: 'manual',
    signal: silence.signal,
  } as const;
  const url = endpoint(options.baseUrl, wire.path);
  return transport === undefined
    ? fetch(url, { ...init, body: wire.body })
    : transport(url, { ...init, body: wire.body.toString('utf8') });
};

/** The layout names the model that was asked for: servers answer with other names of it. */
const asked = (model: string, reply: GenerateReply): GenerateReply =>
  reply.layout === undefined ? reply : { ...reply, layout: { ...reply.layout, model } };

async function readRefusal(
  response: Response,
  { silence, received }: { readonly silence: Silence; readonly received: CollectedBytes },
  { dialect, options, keys }: Attempt,
): Promise<AttemptFailed> {
  const { status, headers } = response;
  if (status >= 300 && status < 400 && headers.has('location')) {
    await response.body?.cancel();
    // Before it is read as a URL, which spells a host in small letters: so no key would be found in it.
    const target = redirectTarget(keys.text(headers.get('location') ?? ''), options.baseUrl);
    const message = `the server answered ${status}, a redirect to ${target}, which is not followed: give the base URL of the server itself`;
    return new AttemptFailed(new ProviderError('provider_terminal', message));
  }
  const fault = dialect.errorOf(parsed(await readErrorText(response, silence, received)), status);
  return new AttemptFailed(withHeaders(fault, status, headers, options.clock.now()), refusesToStream(status, fault));
}

/** True when the server refuses to stream, but may answer in one piece. */
const refusesToStream = (status: number, error: ProviderError): boolean =>
  (status === 400 || status === 422) && /stream/i.test(error.message);

/** The text itself when it is not JSON, or costs too much to read. */
function parsed(text: string): ExactJson {
  if (costOf(text) !== null) return text;
  try {
    return parseExact(text);
  } catch {
    return text;
  }
}

/** As `fetch` fails in the middle of a body. */
const isNetworkError = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AbortError' || (error instanceof TypeError && error.cause !== undefined));

// The message of the error itself is only `fetch failed`; the cause holds the reason.
function networkFault(error: unknown, answered: boolean): ProviderError {
  const cause = error instanceof Error ? error.cause : undefined;
  const what = answered ? 'the connection was lost in the middle of the answer' : 'cannot reach the server';
  return new ProviderError('provider_retryable', `${what}: ${messageOf(cause ?? error)}`);
}
