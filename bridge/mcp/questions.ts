// What a server asks of a person becomes one question, and the answer becomes what the server waits for. Several questions at
// once are one form with a part for each. Anything else that a server wants of its client is refused.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { CallQuestion, ElicitationAnswer } from '../../schemas/elicitation.ts';
import { type JsonObject, isJson, isPlainObject } from '../../schemas/json.ts';
import { QUESTION_MESSAGE_CHARS_MAX, QUESTION_URL_CHARS_MAX, SERVER_QUESTIONS_MAX } from '../../schemas/limits.ts';

/** One question as a server puts it (MCP 2026-07-28, "Elicitation"). */
interface Elicited {
  readonly message: string;
  readonly schema: JsonObject | null;
  readonly url: string | null;
}

/** Left: why nobody is asked, for people. */
export function callQuestionOf(params: unknown, server: string): Either<string, CallQuestion> {
  const read = readElicited(params);
  if (isLeft(read)) return read;
  const { message, schema, url } = read.right;
  return right({
    message: clipped(message),
    from: server,
    ...(schema === null ? {} : { schema }),
    ...(url === null ? {} : { url }),
  });
}

/** The questions of an answer that needs input, by the keys of the server. */
export function questionOfRequests(
  requests: Readonly<Record<string, unknown>>,
  server: string,
): Either<string, CallQuestion> {
  const keys = Object.keys(requests);
  if (keys.length > SERVER_QUESTIONS_MAX) return left(`it asks ${keys.length} questions at once`);
  const read: (readonly [key: string, asked: Elicited])[] = [];
  for (const key of keys) {
    const request = requests[key];
    const method = isPlainObject(request) ? request['method'] : null;
    if (method !== 'elicitation/create') return left(`it asks for ${JSON.stringify(method)}, which is not offered`);
    const elicited = readElicited((request as JsonObject)['params']);
    if (isLeft(elicited)) return elicited;
    read.push([key, elicited.right]);
  }
  const [only] = read;
  if (read.length === 1 && only !== undefined)
    return callQuestionOf((requests[only[0]] as JsonObject)['params'], server);
  const properties = read.map(([key, { message, schema }]) => [
    key,
    { ...(schema ?? { type: 'object' }), description: message },
  ]);
  const message = read
    .map(([, asked]) => (asked.url === null ? asked.message : `${asked.message}: ${asked.url}`))
    .join('\n');
  const schema = { type: 'object', properties: Object.fromEntries(properties) as JsonObject, required: keys };
  return right({ message: clipped(message), from: server, schema });
}

/** What the server waits for, by its keys. */
export function responsesOf(keys: readonly string[], { action, content = {} }: ElicitationAnswer): JsonObject {
  const [only] = keys;
  const parts = keys.map((key) => {
    const part = keys.length === 1 ? content : content[key];
    return [key, action === 'accept' && isPlainObject(part) ? { action, content: part } : { action }] as const;
  });
  return only === undefined ? {} : (Object.fromEntries(parts) as JsonObject);
}

function readElicited(params: unknown): Either<string, Elicited> {
  if (!isPlainObject(params) || !isJson(params)) return left('its question cannot be read');
  const { message, requestedSchema, url, mode = 'form' } = params;
  if (typeof message !== 'string') return left('its question has no message');
  if (mode === 'url') {
    const isUrl =
      typeof url === 'string' && url.length <= QUESTION_URL_CHARS_MAX && /^https?:/.test(url) && URL.canParse(url);
    return isUrl
      ? right({ message, schema: null, url })
      : left('its question names no address that a person can visit');
  }
  if (mode !== 'form') return left('its question is of an unknown mode');
  return isPlainObject(requestedSchema)
    ? right({ message, schema: requestedSchema, url: null })
    : left('its question has no schema');
}

const clipped = (message: string): string => message.slice(0, QUESTION_MESSAGE_CHARS_MAX).toWellFormed();
