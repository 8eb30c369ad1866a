// Errors of Google's APIs: google.rpc.Status with ErrorInfo, RetryInfo and QuotaFailure as details.
import {
  type ExactJson,
  type ExactObject,
  entryOf,
  isExactObject,
  listIn,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { failureOf } from '../api/failure.ts';
import type { ProviderError } from '../provider.ts';

/** The error in a body or a chunk. Streams wrap it in a list. `status` is null when it came within a 200. */
export function errorOf(body: ExactJson, status: number | null): ProviderError {
  const whole = Array.isArray(body) ? (body as readonly ExactJson[]).at(-1) : body;
  const error = objectIn(whole)['error'] ?? whole;
  const fields = objectIn(error);
  const code = numberOf(fields);
  const text = textIn(fields['message']) || textIn(error) || JSON.stringify(whole ?? null);
  const state = textIn(fields['status']);
  const message = `the server answered: ${[status ?? code ?? '', state, text].filter((part) => part !== '').join(' ')}`;
  const retryAfterMs = waitOf(fields, text);
  return failureOf({ status: status ?? code, words: wordsOf(fields, text), message, retryAfterMs });
}

// google.rpc.Code and its HTTP mapping, for errors that state only the word.
const STATUS: { readonly [state: string]: number } = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  INTERNAL: 500,
  UNKNOWN: 500,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

function numberOf({ code, status }: ExactObject): number | null {
  const number = Number(code);
  return number >= 400 && number < 600 ? number : (entryOf(STATUS, textIn(status)) ?? null);
}

/** Everything that says what kind of error it is. A limit of a minute is a rate, though its message says "quota". */
function wordsOf(fields: ExactObject, text: string): string {
  const details = listIn(fields['details']).map(objectIn);
  const reasons = details.map((detail) => textIn(detail['reason'])).join(' ');
  const quotas = details
    .flatMap((detail) => [...listIn(detail['violations']).map(objectIn), objectIn(detail['metadata'])])
    .map((limit) => `${textIn(limit['quotaId'])} ${textIn(limit['quota_limit'])}`)
    .join(' ');
  const state = textIn(fields['status']);
  const limits = `${quotas} ${text}`;
  if (state !== 'RESOURCE_EXHAUSTED') {
    return [state, reasons, text, /payload size exceeds/i.test(text) ? 'request_too_large' : ''].join(' ');
  }
  if (/per.?day|daily/i.test(limits)) return 'insufficient_quota';
  return /per.?minute|per.?second/i.test(limits) ? `${state} ${reasons}` : `${state} ${reasons} ${text}`;
}

/** `retryDelay` of RetryInfo, such as `36.4s`; or the same in words, where the details are missing. */
function waitOf(fields: ExactObject, text: string): number | null {
  const info = listIn(fields['details']).find((detail) => isExactObject(detail) && detail['retryDelay'] !== undefined);
  const [, stated] =
    /^([0-9.]+)s$/.exec(textIn(objectIn(info)['retryDelay'])) ?? /retry in ([0-9.]+)s\b/i.exec(text) ?? [];
  const seconds = Number(stated);
  return stated === undefined || Number.isNaN(seconds) ? null : seconds * 1_000;
}
