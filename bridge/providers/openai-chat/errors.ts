// The errors of Chat Completions servers, which write them in many forms.
import { type ExactJson, type ExactObject, exactText, isExactObject, objectIn, textIn } from '../api/exact-json.ts';
import { failureOf } from '../api/failure.ts';
import type { ProviderError } from '../provider.ts';

/** The error in a body, a chunk or a choice. `status` is null when it came within a 200. */
export function chatError(body: ExactJson, status: number | null): ProviderError {
  const error = isExactObject(body) && isExactObject(body['error']) ? body['error'] : body;
  const fields = objectIn(error);
  const code = textIn(fields['code']);
  const message = messageIn(body, fields);
  const number = status ?? statusIn(fields);
  const stated = [number === null ? '' : String(number), code, message].filter((part) => part !== '').join(' ');
  return failureOf({
    status: number,
    words: `${code} ${textIn(fields['type'])} ${message}`,
    message: `the server answered: ${stated}`,
  });
}

/** True for a chunk or a completion that is an error. */
export const isError = (body: ExactObject): boolean =>
  (body['error'] !== undefined && body['error'] !== null) || body['object'] === 'error';

// Once a stream has begun, a server can no longer send a status; some put it into the error.
const statusIn = (fields: ExactObject): number | null =>
  [fields['status'], fields['code'], fields['status_code']]
    .map(Number)
    .find((value) => Number.isInteger(value) && value >= 400 && value < 600) ?? null;

function messageIn(body: ExactJson, fields: ExactObject): string {
  if (typeof body === 'string') return body;
  for (const value of [fields['message'], objectIn(body)['error'], fields['detail']]) {
    if (typeof value === 'string') return value;
  }
  return exactText(body);
}
