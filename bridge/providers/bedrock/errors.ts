// Errors of Bedrock: `{message}` or `{Message}` with a status, and exceptions within a stream, which have a name instead.
import { type ExactJson, exactText, objectIn, textIn } from '../api/exact-json.ts';
import { failureOf } from '../api/failure.ts';
import { ProviderError } from '../provider.ts';

/**
 * The statuses that the names of exceptions stand for. They count before the status of the answer: a failure of the model
 * comes with 424, which says nothing about a retry, and a quota with 400.
 */
const STATUS: ReadonlyMap<string, number> = new Map([
  ['accessdenied', 403],
  ['expiredtoken', 401],
  ['incompletesignature', 401],
  ['internalfailure', 500],
  ['internalserver', 500],
  ['invalidclienttokenid', 401],
  ['invalidsignature', 401],
  ['missingauthenticationtoken', 401],
  ['modelerror', 503],
  ['modelnotready', 429],
  ['modelstreamerror', 503],
  ['modeltimeout', 408],
  ['resourcenotfound', 404],
  ['serviceunavailable', 503],
  ['throttling', 429],
  ['toomanyrequests', 429],
  ['unrecognizedclient', 401],
  ['validation', 400],
]);

export function converseFault(body: ExactJson, status: number | null): ProviderError {
  const fields = objectIn(body);
  const written = typeof body === 'string' ? body : exactText(body);
  const message = [fields['message'], fields['Message'], fields['errorMessage']].map(textIn).find(Boolean) ?? written;
  const type = exceptionOf([fields['__type'], fields['code'], fields['x-amzn-errortype']].map(textIn).find(Boolean));
  // A wording of its own, for a prompt that is too long.
  const long = /too many total text bytes/i.test(message) ? ' prompt is too long' : '';
  const words = `${type} ${message}${long}`;
  const stated = `the server answered: ${[status ?? '', type, message].filter((part) => part !== '').join(' ')}`;
  // "Too many tokens per day": the next day is too far away for a retry.
  if (/^servicequotaexceeded/i.test(type) || /tokens per day/i.test(message)) {
    return failureOf({ status: 402, words, message: stated });
  }
  return failureOf({ status: STATUS.get(keyOf(type)) ?? status, words, message: stated });
}

/** Without the namespace before it and the address behind it: `ns#ThrottlingException:http://...` */
const exceptionOf = (type = ''): string => type.slice(type.lastIndexOf('#') + 1).replace(/:.*$/s, '');
const keyOf = (type: string): string => type.toLowerCase().replace(/(exception|error)$/, '');

/** An answer that is not of the API's form. */
export const oddAnswer = (path: string, expected: string): ProviderError =>
  new ProviderError('provider_retryable', `the server's answer cannot be read: ${path} is not ${expected}`);
