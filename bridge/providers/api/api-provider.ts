// A model behind HTTP: sends a request in a dialect, and reads the answer, streamed or not. Transient faults are reported as
// such: the run's policy decides whether and when to retry.
import { MODEL_SERVER_NAMES, type ModelServerName } from '../../../src/files/model-servers.ts';
import { MODEL_UNNAMED } from '../../../schemas/run.ts';
import type { BridgeClock } from '../../../src/clock.ts';
import { messageOf } from '../../log.ts';
import { createRedactor } from '../../secrets/redactor.ts';
import { type GenerateReply, type GenerateRequest, type Provider, ProviderError } from '../provider.ts';
import type { Dialect, WireRequest } from './dialect.ts';
import { loadDialect } from './dialects.ts';
import { baseUrlFault, endpoint, redirectTarget } from './endpoint.ts';
import { type ExactJson, parseExact } from './exact-json.ts';
import { withHeaders } from './failure.ts';
import { keyHeaders } from './key-headers.ts';
import { type TakeDelta, readAnswer, readErrorText } from './read-body.ts';
import { costOf } from './refuse-costly.ts';
import { type Silence, watchSilence } from './silence.ts';
import { errorWithout, newDeltaGate, replyWithout } from './without-keys.ts';

export interface ApiProviderOptions {
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
      const attempt = (stream: boolean): Promise<GenerateReply | AttemptFailed> =>
        tryOnce({ options, dialect, request, model, stream, signal, onDelta: gate.take });
      let answer = await attempt(true);
      if (answer instanceof AttemptFailed && answer.withoutStream && !signal.aborted) answer = await attempt(false);
      if (answer instanceof AttemptFailed) {
        if (signal.aborted) throw new ProviderError('cancelled', 'the request was cancelled');
        throw errorWithout(answer.fault, keys);
      }
      gate.end();
      return replyWithout(answer, keys);
    },
  };
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
  readonly request: GenerateRequest;
  readonly model: string;
  readonly stream: boolean;
  readonly signal: AbortSignal;
  readonly onDelta: TakeDelta;
}

async function tryOnce(attempt: Attempt): Promise<GenerateReply | AttemptFailed> {
  const { options, dialect, request, model, stream, signal, onDelta } = attempt;
  const silence = watchSilence(options, signal);
  let answered = false;
  try {
    const wire = dialect.encode(request, { model, baseUrl: options.baseUrl, stream });
    const response = await send(options, wire, silence);
    answered = true;
    silence.heard();
    if (!response.ok) return await readRefusal(response, silence, attempt);
    return asked(model, dialect.read(await readAnswer(response, silence, dialect, onDelta)));
  } catch (error) {
    if (error instanceof ProviderError) return new AttemptFailed(error);
    if (silence.isOver()) return new AttemptFailed(new ProviderError('provider_retryable', silence.message));
    if (!answered || isNetworkError(error)) return new AttemptFailed(networkFault(error, answered));
    return new AttemptFailed(new ProviderError('provider_terminal', `cannot read the answer: ${messageOf(error)}`));
  } finally {
    silence.end();
  }
}

const send = (options: ApiProviderOptions, wire: WireRequest, silence: Silence): Promise<Response> =>
  fetch(endpoint(options.baseUrl, wire.path), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      ...wire.headers,
      ...keyHeaders(options),
    },
    body: wire.body,
    // A redirect would take the key and the conversation to a server that was not named.
    redirect: 'manual',
    signal: silence.signal,
  });

/** The layout names the model that was asked for: servers answer with other names of it. */
const asked = (model: string, reply: GenerateReply): GenerateReply =>
  reply.layout === undefined ? reply : { ...reply, layout: { ...reply.layout, model } };

async function readRefusal(
  response: Response,
  silence: Silence,
  { dialect, options }: Attempt,
): Promise<AttemptFailed> {
  const { status, headers } = response;
  if (status >= 300 && status < 400 && headers.has('location')) {
    await response.body?.cancel();
    const target = redirectTarget(headers.get('location'), options.baseUrl);
    const message = `the server answered ${status}, a redirect to ${target}, which is not followed: give the base URL of the server itself`;
    return new AttemptFailed(new ProviderError('provider_terminal', message));
  }
  const fault = dialect.errorOf(parsed(await readErrorText(response, silence)), status);
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
