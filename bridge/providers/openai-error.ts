// Interprets the errors of Chat Completions servers: whether a retry may help, and whose fault it is.
import { isPlainObject } from '../../schemas/json.ts';
import { ProviderError, type ProviderErrorCode } from './provider.ts';

/**
 * The error in a response body or chunk. `status` is null when it came within a 200. The message is not clipped: it is as
 * long as the server's.
 */
export function errorOfBody(body: unknown, status: number | null): ProviderError {
  const error = isPlainObject(body) && isPlainObject(body['error']) ? body['error'] : body;
  const fields = isPlainObject(error) ? error : {};
  const code = typeof fields['code'] === 'string' ? fields['code'] : '';
  const type = typeof fields['type'] === 'string' ? fields['type'] : '';
  const message = messageOfBody(body, fields);
  const number = status ?? statusIn(fields);
  const stated = [number === null ? '' : String(number), code, message].filter((part) => part !== '').join(' ');
  const words = `${code} ${type} ${message}`;
  return new ProviderError(codeOf({ status: number, words }), `the server answered: ${stated}`);
}

/** True when the server refuses to stream, but may answer in one piece. */
export const refusesToStream = (status: number, error: ProviderError): boolean =>
  (status === 400 || status === 422) && /stream/i.test(error.message);

const CONTEXT =
  /context[_ ](length|window)|maximum context|prompt (is )?too long|too many (input )?tokens|token limit/i;
const QUOTA = /insufficient_quota|billing|exceeded your current quota|credit balance/i;
const RETRYABLE = /rate.?limit|overloaded|server_error|internal|unavailable|timeout|timed out|try again/i;

function codeOf({ status, words }: { readonly status: number | null; readonly words: string }): ProviderErrorCode {
  if (status === 401 || status === 403) return 'provider_auth';
  if (status !== 429 && (status === null || status < 500) && CONTEXT.test(words)) return 'context_length';
  if (QUOTA.test(words)) return 'provider_terminal';
  if (status === null) return RETRYABLE.test(words) ? 'provider_retryable' : 'provider_terminal';
  const transient = status === 408 || status === 409 || status === 425 || status === 429 || status >= 500;
  return transient ? 'provider_retryable' : 'provider_terminal';
}

// Once a stream has begun, a server can no longer send a status; some put it into the error.
function statusIn(fields: Readonly<Record<string, unknown>>): number | null {
  return [fields['status'], fields['code']].map(Number).find((value) => value >= 400 && value < 600) ?? null;
}

function messageOfBody(body: unknown, fields: Readonly<Record<string, unknown>>): string {
  if (typeof body === 'string') return body;
  for (const value of [fields['message'], isPlainObject(body) ? body['error'] : null, fields['detail']]) {
    if (typeof value === 'string') return value;
  }
  return JSON.stringify(body) ?? '';
}
