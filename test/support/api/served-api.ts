// A served engine with a page and tokens of every scope, asked as any HTTP client asks it, and each answer held against the
// OpenAPI document that the server itself gives.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { createParser } from 'eventsource-parser';
import { right } from 'fp-ts/lib/Either.js';
import { digestText } from '../../../schemas/canonical.ts';
import { type JsonObject, isPlainObject } from '../../../schemas/json.ts';
import { pointerSegment } from '../../../schemas/rejection.ts';
import { openFileBlobs } from '../../../src/blobs/file-blobs.ts';
import { must } from '../../../src/client/must.ts';
import { type Engine, startEngine } from '../../../src/engine/engine.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import { serve } from '../../../src/server/serve.ts';
import { fixedTokens } from '../../../src/server/tokens.ts';

export const TOKENS = { operator: 'o'.repeat(40), bridge: 'b'.repeat(40), viewer: 'v'.repeat(40) } as const;

/** What the server answers a request to read its catalog again. */
const RELOADED = { changed: false, digest: digestText(''), tools: 0 };

export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  /** Ends an answer that never ends by itself once it has this text. */
  readonly until?: string;
}

export interface ApiAnswer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

export interface ServedApi {
  readonly engine: Engine;
  readonly port: number;
  readonly document: JsonObject;
  ask(asked: ApiRequest): Promise<ApiAnswer>;
  close(): Promise<void>;
}

export async function serveApi(): Promise<ServedApi> {
  const directory = await mkdtemp(join(tmpdir(), 'refold-api-'));
  for (const name of ['index.html', 'page.js', 'worker.js', 'styles.css']) await writeFile(join(directory, name), ' ');
  const engine = await must(
    startEngine({
      journal: await must(openLevelJournal(join(directory, 'journal'))),
      blobs: await must(openFileBlobs(join(directory, 'blobs'))),
    }),
  );
  const serving = await serve(engine.client, {
    tokens: fixedTokens(TOKENS),
    port: 0,
    operations: Promise.resolve({ ...engine, reloadCatalog: () => Promise.resolve(right(RELOADED)) }),
    pageDirectory: directory,
  });
  const port = Number(new URL(serving.url).port);
  const ask = (asked: ApiRequest): Promise<ApiAnswer> => send(port, asked);
  const document = JSON.parse((await ask({ method: 'GET', path: '/openapi.json' })).body) as JsonObject;
  return {
    engine,
    port,
    document,
    ask,
    async close() {
      await serving.close();
      await engine.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function send(port: number, { method, path, headers = {}, body, until }: ApiRequest): Promise<ApiAnswer> {
  return new Promise((resolve, fail) => {
    const outgoing = request({ agent: false, host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = '';
      const done = (): void =>
        resolve({ status: response.statusCode ?? 0, type: response.headers['content-type'] ?? '', body: text });
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (until !== undefined && text.includes(until)) response.destroy();
      });
      response.once('close', done);
    });
    outgoing.once('error', fail);
    outgoing.end(body);
  });
}

/** What an answer is by the document: the name of its operation and the status; and what of it does not fit. */
export interface Fit {
  readonly operation: string;
  readonly faults: readonly string[];
}

export interface Fitting {
  /** Every operation of the document, by its id. */
  readonly operations: readonly string[];
  fits(asked: Pick<ApiRequest, 'method' | 'path'>, answer: ApiAnswer): Fit;
}

interface Operation {
  readonly id: string;
  readonly method: string;
  readonly pattern: RegExp;
  readonly pointer: string;
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, JsonObject>> }>>;
}

export function fittingOf(document: JsonObject): Fitting {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  ajv.addSchema({ ...document, $id: ROOT });
  const operations = operationsOf(document);

  const faultsAt = (pointer: string, value: unknown): readonly string[] => {
    const check = ajv.getSchema(`${ROOT}#${pointer}`) ?? ajv.compile({ $ref: `${ROOT}#${pointer}` });
    return check(value) === true ? [] : (check.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
  };

  function faultsIn({ pointer, responses }: Operation, { status, type, body }: ApiAnswer): readonly string[] {
    const response = responses[status];
    if (response === undefined) return [`the document has no status ${status}: ${body.slice(0, 200)}`];
    if (response.content === undefined) return body === '' ? [] : ['the document says that there is no body'];
    const media = type.split(';')[0] ?? '';
    const content = response.content[media];
    if (content === undefined) return [`the document has no ${media} for the status ${status}`];
    const at = `${pointer}/responses/${status}/content${pointerSegment(media)}`;
    if (/[/+]json$/.test(media)) return faultsAt(`${at}/schema`, JSON.parse(body));
    if (isPlainObject(content['x-lines'])) return linesOf(body).flatMap((line) => faultsAt(`${at}/x-lines`, line));
    const messages = content['x-messages'];
    if (!isPlainObject(messages)) return [];
    return messagesOf(body).flatMap(({ event, data }) =>
      Object.hasOwn(messages, event)
        ? faultsAt(`${at}/x-messages/${event}`, JSON.parse(data)).map((fault) => `${event}: ${fault}`)
        : [`the document has no message ${event}`],
    );
  }

  return {
    operations: operations.map(({ id }) => id),
    fits({ method, path }, answer) {
      const [bare = ''] = path.split('?');
      const found = operations.find((operation) => operation.method === method && operation.pattern.test(bare));
      if (found === undefined) return { operation: '', faults: [`the document has no ${method} ${bare}`] };
      return { operation: found.id, faults: faultsIn(found, answer) };
    },
  };
}

const ROOT = 'urn:refold:openapi';

/** The operations whose paths have no parameter come first: they are the ones that a path of theirs means. */
function operationsOf(document: JsonObject): readonly Operation[] {
  return Object.entries(document['paths'] as JsonObject)
    .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')))
    .flatMap(([path, operations]) =>
      Object.entries(operations as JsonObject).map(([method, operation]) => ({
        id: (operation as JsonObject)['operationId'] as string,
        method: method.toUpperCase(),
        pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]*')}$`),
        pointer: `/paths${pointerSegment(path)}/${method}`,
        responses: (operation as JsonObject)['responses'] as unknown as Operation['responses'],
      })),
    );
}

const linesOf = (body: string): readonly unknown[] =>
  body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

interface Message {
  readonly event: string;
  readonly data: string;
}

/** The whole messages of a body of server-sent events. */
function messagesOf(body: string): readonly Message[] {
  const found: Message[] = [];
  createParser({ onEvent: ({ event = '', data }) => void found.push({ event, data }) }).feed(body);
  return found;
}
