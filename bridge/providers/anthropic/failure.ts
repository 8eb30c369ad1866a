// What the errors of the Messages API mean, from Anthropic, from Vertex AI and from gateways.
import {
  type ExactJson,
  type ExactObject,
  exactText,
  isExactObject,
  listIn,
  objectIn,
  textIn,
} from '../api/exact-json.ts';
import { failureOf } from '../api/failure.ts';
import type { ProviderError } from '../provider.ts';

// An error inside a 200 has no status of its own: its type stands for the one that it has otherwise.
const STATUS_OF_TYPE: ReadonlyMap<string, number> = new Map([
  ['invalid_request_error', 400],
  ['authentication_error', 401],
  ['billing_error', 402],
  ['permission_error', 403],
  ['not_found_error', 404],
  ['request_too_large', 413],
  ['rate_limit_error', 429],
  ['api_error', 500],
  ['timeout_error', 504],
  ['overloaded_error', 529],
]);

/** The error in a body or an event; `status` is null when it came inside a 200. */
export function messagesError(body: ExactJson, status: number | null): ProviderError {
  const error = errorIn(body);
  const type = textIn(error['type']) || textIn(error['status']);
  const said = textIn(error['message']) || textIn(objectIn(body)['message']);
  const message = said || (typeof body === 'string' ? body : exactText(body));
  const number = status ?? STATUS_OF_TYPE.get(type) ?? statusIn(error);
  const stated = [number === null ? '' : String(number), type, message].filter((part) => part !== '').join(' ');
  return failureOf({ status: number, words: `${type} ${message}`, message: `the server answered: ${stated}` });
}

// Vertex AI wraps its own errors in a list.
function errorIn(body: ExactJson): ExactObject {
  const outer = objectIn(Array.isArray(body) ? listIn(body)[0] : body);
  return isExactObject(outer['error']) ? outer['error'] : outer;
}

function statusIn({ code }: ExactObject): number | null {
  return typeof code === 'number' && code >= 400 && code < 600 ? code : null;
}
