// One line of a cassette: an exchange with a model server, without secrets.
import { isLeft } from 'fp-ts/lib/Either.js';
import { type TypeOf, decode, flag, integer, json, nullable, oneOf, shape, text } from '../../../schemas/codec.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { Digest } from '../../../schemas/ids.ts';
import { parseJson } from '../../../schemas/json.ts';
import { BLOB_BYTES_MAX } from '../../../schemas/limits.ts';
import { CASSETTE_VERSION } from '../../../src/files/cassette.ts';
import { MODEL_SERVER_NAMES } from '../../../src/files/model-servers.ts';
import type { WireExchange } from '../api/wire-exchange.ts';

const long = (name: string) => text(name, { max: BLOB_BYTES_MAX });

export const CassetteLine = shape(
  'CassetteLine',
  {
    cassette: integer('cassette', CASSETTE_VERSION, CASSETTE_VERSION),
    api: oneOf('api', MODEL_SERVER_NAMES),
    base_url: text('base_url', { max: 2_048 }),
    model: text('model', { max: 256 }),
    stream: flag,
    /** Of the request as it stands here. */
    digest: Digest,
    /** The body, as text: JSON inside JSON would lose large numbers. */
    request: long('request'),
    /** Null when the server gave none. */
    status: nullable(integer('status', 200, 599)),
    /** Those that say how the body is to be read, and when to ask again. */
    headers: json,
  },
  {
    /** As received: text when it is UTF-8, else base64. Neither when a secret came in pieces. */
    response: long('response'),
    response_base64: long('response_base64'),
    /** Why the response ended before its end. */
    lost: text('lost', { max: 8_192 }),
  },
);
export type CassetteLine = TypeOf<typeof CassetteLine>;

const HEADERS = ['content-type', 'retry-after', 'retry-after-ms', 'location'];

/**
 * The line of an exchange, with its line feed. The fields that name the server come first (src/files/cassette.ts). `clean` cuts
 * the secrets out of every text; those of the response are cut out before.
 */
export function lineOf(
  { api, target, body: sent, status, headers, lost, response }: WireExchange,
  clean: (text: string) => string,
): string {
  const kept = HEADERS.flatMap((name) => {
    const value = headers?.get(name) ?? null;
    // A header holds no other characters, and the mark of a secret has some.
    return value === null ? [] : [[name, clean(value).replaceAll(/[^\t -~]/g, '?')] as const];
  });
  const body = clean(sent);
  const head = {
    cassette: CASSETTE_VERSION,
    api,
    base_url: clean(target.baseUrl),
    model: clean(target.model),
    stream: target.stream,
  };
  const rest = {
    status,
    headers: Object.fromEntries(kept),
    ...(response === null ? {} : responseFields(response)),
    ...(lost === null ? {} : { lost: clean(lost) }),
  };
  return `${JSON.stringify({ ...head, digest: digestText(body), request: body, ...rest })}\n`;
}

function responseFields(response: Buffer): Pick<CassetteLine, 'response' | 'response_base64'> {
  const asText = response.toString('utf8');
  return Buffer.from(asText, 'utf8').equals(response)
    ? { response: asText }
    : { response_base64: response.toString('base64') };
}

/** The exchanges of a cassette, each with the text of its request. Throws an Error that names the invalid line. */
export function readCassette(jsonLines: string): readonly RecordedExchange[] {
  const lines = jsonLines.split('\n');
  // A process that died while it wrote leaves a line without its end.
  if (lines.at(-1) !== '') lines.pop();
  return lines.flatMap((line, index): readonly RecordedExchange[] => {
    if (line.trim() === '') return [];
    const fault = (message: string): Error => new Error(`cassette, line ${index + 1}: ${message}`);
    const parsed = parseJson(line, BLOB_BYTES_MAX);
    if (isLeft(parsed)) throw fault(parsed.left.message);
    const decoded = decode(CassetteLine, parsed.right);
    if (isLeft(decoded)) throw fault(`at "${decoded.left.path}": ${decoded.left.message}`);
    return [{ ...decoded.right, number: index + 1 }];
  });
}

/** A line, with its number, from 1. */
export interface RecordedExchange extends CassetteLine {
  readonly number: number;
}
