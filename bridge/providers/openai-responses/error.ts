// Errors of the Responses API: the body of an error status, an `error` event, or the `error` of a failed response.
import type { ProviderError } from '../provider.ts';
import {
  type ExactJson,
  type ExactObject,
  entryOf,
  exactText,
  isExactObject,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { failureOf } from '../api/failure.ts';

export function responsesError(body: ExactJson, status: number | null): ProviderError {
  const fields = errorFields(body);
  const code = textIn(fields['code']);
  const type = textIn(fields['type']);
  const message = messageOf(body, fields);
  const stated = [status === null ? '' : String(status), code, message].filter((part) => part !== '').join(' ');
  return failureOf({
    status: status ?? statusIn(fields) ?? statusOfCode(code),
    words: `${code} ${type} ${message}`,
    message: `the server answered: ${stated}`,
    retryAfterMs: waitIn(message),
  });
}

// `{error: {…}}`, the event `{type: "response.failed", response: {error: {…}}}`, or the fields themselves.
function errorFields(body: ExactJson): ExactObject {
  const fields = objectIn(body);
  const inside = isExactObject(fields['error']) ? fields['error'] : objectIn(fields['response'])['error'];
  return isExactObject(inside) ? inside : fields;
}

function messageOf(body: ExactJson, fields: ExactObject): string {
  if (typeof body === 'string') return body;
  for (const value of [fields['message'], objectIn(body)['error'], fields['detail']]) {
    if (typeof value === 'string' && value !== '') return value;
  }
  return exactText(body);
}

// Gateways put the status that they got themselves into the error.
const statusIn = (fields: ExactObject): number | null =>
  [fields['status'], fields['code']].map(Number).find((value) => value >= 400 && value < 600) ?? null;

const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  server_error: 500,
  vector_store_timeout: 504,
  rate_limit_exceeded: 429,
  insufficient_quota: 429,
  context_length_exceeded: 400,
};

// Inside a 200 the code alone says what a status would: the request itself is wrong when it names the prompt or an image.
const statusOfCode = (code: string): number | null =>
  entryOf(STATUS_OF_CODE, code) ?? (/^(?:invalid|unsupported|empty|image|failed_to_download)_/.test(code) ? 400 : null);

/** "Please try again in 1.5s" (also `20ms`, `6m0s`), where a stream has no header for it. */
function waitIn(message: string): number | null {
  const found = /try again in (?:([0-9]+)m)?([0-9]+(?:\.[0-9]+)?)(ms|s)\b/i.exec(message);
  if (found === null) return null;
  const [, minutes = '0', rest = '0', unit = 's'] = found;
  return Number(minutes) * 60_000 + Number(rest) * (unit.toLowerCase() === 'ms' ? 1 : 1_000);
}
