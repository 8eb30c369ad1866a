// What the failures of model servers mean, for all APIs: whether a retry may help, and whose fault it was.
import { RETRY_CAP_MS_MAX } from '../../../schemas/limits.ts';
import { ProviderError, type ProviderErrorCode } from '../provider.ts';

interface Failure {
  /** The HTTP status, or the one that the error itself states; null when there is none. */
  readonly status: number | null;
  /** Everything that says what kind of error it is: its code, type, status word and message. */
  readonly words: string;
  /** For people, as long as the server's own. */
  readonly message: string;
  /** How long the body asks to wait. */
  readonly retryAfterMs?: number | null;
}

/** The error that a server's answer means. The caller clips the message and cuts keys out. */
export function failureOf({ status, words, message, retryAfterMs = null }: Failure): ProviderError {
  const wait = retryAfterMs === null || !(retryAfterMs >= 0) ? null : bounded(retryAfterMs);
  const code = codeOf(status, words, wait !== null);
  return new ProviderError(code, `${ADVICE[code] ?? ''}${message}`, wait);
}

// Before the server's words, so that a clipped message still says what to do.
const ADVICE: { readonly [code in ProviderErrorCode]?: string } = {
  provider_auth: 'the key was refused: give a valid one for this server and model; ',
  provider_quota: 'the quota or the credit is used up: raise it with the provider, or use another key; ',
  context_length: 'the conversation is too long for the model; ',
};

// The wording of OpenAI, Anthropic, Gemini, Bedrock, Mistral, Groq, OpenRouter, Together, vLLM, Ollama and llama.cpp.
const CONTEXT = new RegExp(
  [
    'context[_ -]?(length|window|size)',
    'maximum context',
    'max(imum)? (input|prompt) (length|size)',
    '(prompt|input|request|messages) (is |are )?too (long|large)',
    'too[_ ]many[_ ](input[_ ]|prompt[_ ])?tokens(?! per)',
    'too_many_prompt_tokens',
    'length of all messages is too long',
    'token (limit|count)[^.]{0,40}(reached|exceed)|exceeds? the (maximum|max|model.?s)[^.]{0,40}tokens',
    'tokens? (limit|exceed)',
    'input (token count|tokens? exceed|length and .max_tokens. exceed)',
    'number of input tokens exceeds',
    'exceeds? the (available |model.?s )?(context|limit of [0-9,]+ tokens)',
    'request exceeds the maximum size|request_too_large',
  ].join('|'),
  'i',
);
const QUOTA =
  /insufficient[_ ](quota|credits?|balance|funds)|billing|exceeded your (current )?quota|credit balance|quota[_ ]exceeded|out of credits|payment required|spend(ing)? limit|servicequotaexceeded/i;
const AUTH =
  /api[_ ]key[_ ](not valid|invalid)|invalid[_ ]api[_ ]key|authentication_error|permission_error|unauthenticated/i;
const RETRYABLE =
  /rate.?limit|overloaded|server_error|api_error|internal|unavailable|timed?.?out|try again|throttl|too many requests|resource_exhausted|deadline_exceeded|model_?stream_?error|capacity/i;
const INVALID = /invalid_request|validation_?exception|invalid_argument|failed_precondition/i;

const TRANSIENT: ReadonlySet<number> = new Set([408, 409, 425, 429]);

const isTransient = (status: number | null): boolean => status !== null && (TRANSIENT.has(status) || status >= 500);

function codeOf(status: number | null, words: string, waits: boolean): ProviderErrorCode {
  const transient = isTransient(status);
  // A limit that ends at a stated time is a rate, whatever the server calls it.
  const spent = status === 402 || ((status === null || status < 500) && !waits && QUOTA.test(words));
  if (transient) return spent ? 'provider_quota' : 'provider_retryable';
  if (status === 413 || CONTEXT.test(words)) return 'context_length';
  if (spent) return 'provider_quota';
  if (status === 401 || status === 403 || AUTH.test(words)) return 'provider_auth';
  return status === null ? codeOfWords(words) : status >= 400 ? 'invalid_request' : 'provider_terminal';
}

/** The error came inside a 200, and states no status. */
function codeOfWords(words: string): ProviderErrorCode {
  if (RETRYABLE.test(words)) return 'provider_retryable';
  return INVALID.test(words) ? 'invalid_request' : 'provider_terminal';
}

/** The failure with the wait that the headers ask for, which counts before the body's. A 429 with one is no exhausted quota. */
export function withHeaders(fault: ProviderError, status: number, headers: Headers, now: number): ProviderError {
  const wait = retryAfter(headers, now);
  if (wait === null) return fault;
  const rate = status === 429 && fault.code === 'provider_quota';
  return new ProviderError(rate ? 'provider_retryable' : fault.code, fault.message, wait);
}

/** RFC 9110 section 10.2.3: seconds or a date; some servers also send milliseconds in `retry-after-ms`. */
function retryAfter(headers: Headers, now: number): number | null {
  const precise = Number.parseFloat(headers.get('retry-after-ms') ?? '');
  if (precise >= 0) return bounded(precise);
  const value = headers.get('retry-after')?.trim() ?? '';
  if (value === '') return null;
  const seconds = Number(value);
  if (seconds >= 0) return bounded(seconds * 1_000);
  const date = /^[A-Z][a-z]{2}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? null : bounded(date - now);
}

const bounded = (ms: number): number => Math.min(Math.max(0, Math.ceil(ms)), RETRY_CAP_MS_MAX);
