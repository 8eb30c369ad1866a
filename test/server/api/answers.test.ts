// Every route with real requests: each answer, whether it succeeds or not, fits what the OpenAPI document says of its status.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROUTES, type RouteName } from '../../../schemas/access.ts';
import { digestText } from '../../../schemas/canonical.ts';
import { brand } from '../../../schemas/ids.ts';
import { OPEN_SHAPES, type OpenRouteName } from '../../../src/server/api/open-shapes.ts';
import { ROUTE_SHAPES } from '../../../src/server/api/route-shapes.ts';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type Fitting,
  type ServedApi,
  TOKENS,
  fittingOf,
  serveApi,
} from '../../support/api/served-api.ts';
import { A, SESSION, Talk, callsIn, leaseRequest, settled } from '../../support/engine/world.ts';
import { testPackage } from '../../support/tools.ts';

const RUNNING = brand<'SessionId'>('s-running');
const WAITING = brand<'SessionId'>('s-waiting');
const BYTES = Buffer.from('some bytes');
const BLOB = digestText('some bytes');
const NO_BLOB = `sha256:${'0'.repeat(64)}`;

let api: ServedApi;
let fitting: Fitting;
/** What was asked, by operation and status. */
const seen = new Set<string>();
/** The lease on the generate of the running session. */
let generate = { owner: A as string, effect_id: '', epoch: 0 };

beforeAll(async () => {
  api = await serveApi();
  fitting = fittingOf(api.document);
  const { client } = api.engine;
  const settledTalk = await new Talk(client, SESSION).create();
  await settledTalk.calls(['a', 'read'], ['b', 'nope']);
  const [owed] = callsIn(await settledTalk.lease(A, { kinds: ['tool.call'], sessions: [SESSION] }));
  if (owed !== undefined) await settledTalk.submit([settled(owed)], A);
  const running = await new Talk(client, RUNNING).create();
  await running.run();
  const { effects, epochs } = await running.lease(A, { kinds: ['llm.generate'], sessions: [RUNNING] });
  generate = { owner: A, effect_id: effects[0]?.effect_id ?? '', epoch: epochs[0] ?? 0 };
  const waiting = await new Talk(client, WAITING).create(testPackage(), CONSENT_PRESETS.careful);
  await waiting.calls(['w', 'write']);
});
afterAll(() => api.close());

interface Case {
  readonly name: RouteName | OpenRouteName;
  readonly why: string;
  /** Called when the request is sent. */
  readonly asked: () => ApiRequest;
  readonly status: number;
}

const pathOf = (name: RouteName, id: string = SESSION): string => ROUTES[name].path.replace(/:\w+/, id);

type Given = Partial<ApiRequest> & { readonly id?: string; readonly query?: string; readonly json?: unknown };

/** A request to a route with a token; by default that of an operator. */
function asking(name: RouteName, { id, query = '', json, headers = {}, ...rest }: Given = {}): ApiRequest {
  return {
    method: ROUTES[name].method,
    path: `${pathOf(name, id)}${query}`,
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    headers: {
      authorization: `Bearer ${TOKENS.operator}`,
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...rest,
  };
}

const to = (name: RouteName, why: string, status: number, given: Given | (() => Given) = {}): Case => ({
  name,
  why,
  status,
  asked: () => asking(name, typeof given === 'function' ? given() : given),
});

const run = { kind: 'RunRequested', input: { text: 'go' } };
const lease = leaseRequest(A, { max: 4 });

const SUCCESSES: readonly Case[] = [
  to('info', 'asks', 200),
  to('sessions', 'lists', 200, { query: '?limit=2&owing=true' }),
  to('createSession', 'creates', 201, { json: { session_id: 's-new' } }),
  to('deleteSession', 'deletes', 200, { id: 's-new' }),
  to('deletedSessions', 'lists', 200, { query: '?limit=1' }),
  to('session', 'of an open batch', 200),
  to('session', 'of a question', 200, { id: WAITING }),
  to('session', 'of a lease that is held', 200, { id: RUNNING }),
  to('submit', 'appends', 200, { json: { events: [{ kind: 'SessionConfigured', config: {} }] } }),
  to('submit', 'appends and leases', 200, {
    json: {
      events: [{ kind: 'SessionConfigured', config: {} }],
      owner: 'bridge-c',
      lease: { kinds: ['llm.generate', 'tool.call'], tools: ['*'], max: 4 },
    },
  }),
  to('followCommits', 'follows', 200, { query: '?from=0', until: 'RunRequested' }),
  to('followCommits', 'follows what is written', 200, () => ({
    id: RUNNING,
    query: '?deltas=1',
    until: 'RunRequested',
  })),
  to('stream', 'reads', 200, { until: 'tool_result' }),
  to('stream', 'reads a question', 200, { id: WAITING, until: 'hitl_request' }),
  to('postDeltas', 'writes', 200, () => ({
    id: RUNNING,
    json: { ...generate, parts: [{ kind: 'text', text: 'Hel' }] },
  })),
  to('records', 'reads all', 200),
  to('records', 'reads a page', 200, { query: '?from=1&limit=1' }),
  to('fork', 'forks', 201, { json: { at: 1 } }),
  to('submits', 'appends to one session, and is refused for another', 200, {
    json: {
      submits: [
        { session_id: WAITING, request: { events: [{ kind: 'SessionConfigured', config: {} }] } },
        { session_id: 'none', request: { events: [run] } },
      ],
    },
  }),
  to('submits', 'appends nothing', 200, { json: { submits: [] } }),
  to('lease', 'leases', 200, { json: lease }),
  to('heartbeat', 'extends and has lost', 200, () => ({
    json: {
      owner: A,
      leases: [
        { session_id: RUNNING, effect_id: generate.effect_id },
        { session_id: RUNNING, effect_id: 'gone' },
      ],
    },
  })),
  to('release', 'releases', 200, { json: { owner: 'nobody', leases: [], all: true } }),
  to('putBlob', 'stores', 201, { body: BYTES }),
  to('putBlob', 'stores without waiting', 201, { query: '?durable=false', body: BYTES }),
  to('joinBlobs', 'joins', 201, { json: { parts: [BLOB, BLOB] } }),
  to('getBlob', 'reads', 200, { id: BLOB }),
  to('backup', 'reads all', 200),
  to('metrics', 'reads', 200),
  to('reloadCatalog', 'reads it again', 200),
  to('askCode', 'asks', 201, { json: { scope: 'viewer', name: 'ada' } }),
  to('pages', 'lists', 200),
];

const JSON_ROUTES = (Object.keys(ROUTES) as readonly RouteName[]).filter((name) => {
  const { body } = ROUTE_SHAPES[name] as { readonly body?: object };
  return body !== undefined && 'jsonSchema' in body;
});
const OF_A_SESSION = (Object.keys(ROUTES) as readonly RouteName[]).filter((name) =>
  ROUTES[name].path.startsWith('/v1/sessions/:id'),
);

/** A body that the shape of the route accepts, so that the session is looked for. */
const whole = (name: RouteName): unknown =>
  name === 'submit'
    ? { events: [run] }
    : name === 'postDeltas'
      ? { ...generate, parts: [{ kind: 'text', text: 'x' }] }
      : {};
const isPost = (name: RouteName): boolean => ROUTES[name].method === 'POST';

const REFUSALS: readonly Case[] = [
  ...(Object.keys(ROUTES) as readonly RouteName[]).flatMap((name) => [
    to(name, 'without a token', 401, { headers: { authorization: '' } }),
    to(name, 'under another host', 403, { headers: { host: 'evil.example' } }),
    to(name, 'from another page', 403, { headers: { origin: 'http://evil.example' } }),
    ...((ROUTES[name].scopes as readonly string[]).includes('viewer')
      ? []
      : [to(name, 'with a token of another scope', 403, { headers: { authorization: `Bearer ${TOKENS.viewer}` } })]),
  ]),
  ...JSON_ROUTES.flatMap((name) => [
    to(name, 'with a body that is no JSON', 400, { body: '{', headers: { 'content-type': 'application/json' } }),
    to(name, 'with another content type', 400, { body: '{}', headers: { 'content-type': 'text/plain' } }),
    to(name, 'with a list', 400, { json: [] }),
    to(name, 'with a body that is too large', 413, {
      body: ' '.repeat(1_048_577),
      headers: { 'content-type': 'application/json' },
    }),
  ]),
  // A lease that is not held says so first.
  ...OF_A_SESSION.flatMap((name) => [
    to(name, 'of no session', name === 'postDeltas' ? 409 : 404, () => ({
      id: 'none',
      ...(isPost(name) ? { json: whole(name) } : {}),
    })),
    to(name, 'of what is no id', 400, () => ({ id: '%20x', ...(isPost(name) ? { json: whole(name) } : {}) })),
  ]),
  ...(['sessions', 'deletedSessions', 'followCommits', 'stream', 'records', 'putBlob'] as const).map((name) =>
    to(name, 'with a name that is no parameter', 400, {
      query: '?none=1',
      ...(name === 'putBlob' ? { body: BYTES } : {}),
    }),
  ),
  to('createSession', 'of an id that is taken', 409, { json: { session_id: SESSION } }),
  to('deleteSession', 'with work', 409),
  to('submit', 'that does not apply', 409, { json: { events: [run] } }),
  to('submit', 'of an unknown kind', 400, { json: { events: [{ kind: 'Nothing' }] } }),
  to('followCommits', 'from a number that is none', 400, { query: '?from=x' }),
  to('followCommits', 'after an id that is none', 400, { headers: { 'last-event-id': 'x' } }),
  to('stream', 'after an id that is not reached', 409, { query: '?after=4711' }),
  to('postDeltas', 'without the lease', 409, () => ({
    id: RUNNING,
    json: { ...generate, epoch: 4711, parts: [{ kind: 'text', text: 'x' }] },
  })),
  to('fork', 'at a position that is not reached', 409, { json: { at: 4711 } }),
  to('putBlob', 'with more bytes than it says', 413, { headers: { 'content-length': '99999999999' } }),
  to('joinBlobs', 'of a blob that is not there', 404, { json: { parts: [NO_BLOB] } }),
  to('getBlob', 'that is not there', 404, { id: NO_BLOB }),
  to('getBlob', 'of what is no digest', 400, { id: 'x' }),
  to('askCode', 'of another scope', 400, { json: { scope: 'bridge' } }),
  to('endPage', 'that is not there', 404, { id: 'page.4711' }),
];

const open = (
  name: OpenRouteName,
  why: string,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): Case => ({
  name,
  why,
  status,
  asked: () => ({ method: OPEN_SHAPES[name].method, path: OPEN_SHAPES[name].at, headers }),
});

const FILES = ['page', 'pageScript', 'pageWorker', 'pageStyles'] as const;

const OPEN: readonly Case[] = [
  open('live', 'asks', 200),
  open('ready', 'asks', 200),
  open('document', 'reads', 200),
  ...FILES.map((name) => open(name, 'reads', 200)),
  ...(['document', 'exchange', ...FILES] as const).flatMap((name) => [
    open(name, 'under another host', 403, { host: 'evil.example' }),
    open(name, 'from another page', 403, { origin: 'http://evil.example' }),
  ]),
];

/** The answer, which fits the document. */
async function check({ name, asked }: Case): Promise<ApiAnswer> {
  const request = asked();
  const answer = await api.ask(request);
  const { operation, faults } = fitting.fits(request, answer);
  expect(faults).toEqual([]);
  expect(operation).toBe(name);
  seen.add(`${name} ${answer.status}`);
  return answer;
}

const titled = (cases: readonly Case[]) => cases.map((one) => [`${one.name} ${one.why}: ${one.status}`, one] as const);

describe('an answer fits the document', () => {
  test.each(titled(SUCCESSES))('%s', async (_title, one) => {
    expect((await check(one)).status).toBe(one.status);
  });
  test.each(titled(REFUSALS))('%s', async (_title, one) => {
    expect((await check(one)).status).toBe(one.status);
  });
  test.each(titled(OPEN))('%s', async (_title, one) => {
    expect((await check(one)).status).toBe(one.status);
  });

  test('of a page from its code to its end', async () => {
    const { code } = JSON.parse((await check(to('askCode', 'asks', 201, { json: { scope: 'operator' } }))).body) as {
      readonly code: string;
    };
    const own = {
      host: `127.0.0.1:${api.port}`,
      origin: `http://127.0.0.1:${api.port}`,
      'sec-fetch-site': 'same-origin',
    };
    const exchange = (status: number) =>
      check(open('exchange', 'exchanges', status, { ...own, authorization: `Code ${code}` }));
    const { token } = JSON.parse((await exchange(201)).body) as { readonly token: string };
    await exchange(401);
    await check(
      to('askCode', 'of a page', 403, {
        json: { scope: 'viewer' },
        headers: { ...own, authorization: `Bearer ${token}` },
      }),
    );
    const { pages } = JSON.parse((await check(to('pages', 'lists', 200))).body) as {
      readonly pages: readonly { readonly id: string }[];
    };
    await check(to('endPage', 'ends', 200, { id: pages[0]?.id ?? '' }));
    const ended = to('pages', 'of a token that ended', 401, { headers: { authorization: `Bearer ${token}` } });
    expect((await check(ended)).status).toBe(401);
  });

  test('of a file that the browser has', async () => {
    const tag = 'W/"none", "';
    const first = await api.ask({ method: 'GET', path: '/page.js', headers: { 'if-none-match': tag } });
    expect(first.status).toBe(200);
    const { headers } = await fetch(`http://127.0.0.1:${api.port}/page.js`);
    await check(open('pageScript', 'is current', 304, { 'if-none-match': headers.get('etag') ?? '' }));
  });
});

// After all others of this file.
test('every operation of the document was asked, with success and without', () => {
  expect(new Set([...seen].map((one) => one.split(' ')[0]))).toEqual(new Set(fitting.operations));
  const neverRefused = new Set<string>(['live', 'ready']);
  for (const name of fitting.operations) {
    const statuses = [...seen].filter((one) => one.startsWith(`${name} `)).map((one) => Number(one.split(' ')[1]));
    expect(
      statuses.some((status) => status < 300),
      `${name} succeeds`,
    ).toBe(true);
    expect(statuses.some((status) => status >= 400) || neverRefused.has(name), `${name} is refused`).toBe(true);
  }
});

test('an answer that does not fit is found', () => {
  const asked = { method: 'GET', path: '/v1' };
  const info = { name: 'refold', version: '1', started_at_ms: 1 };
  const faultsOf = (status: number, body: object, type = 'application/json'): readonly string[] =>
    fitting.fits(asked, { status, type, body: JSON.stringify(body) }).faults;
  expect(faultsOf(200, info)).toEqual([]);
  expect(faultsOf(200, { ...info, more: 1 })).not.toEqual([]);
  expect(faultsOf(201, info)).not.toEqual([]);
  expect(faultsOf(200, info, 'text/plain')).not.toEqual([]);
  const problem = { type: 'x', title: 'x', status: 401, code: 'unauthorized', path: '', detail: '' };
  expect(faultsOf(401, problem, 'application/problem+json')).toEqual([]);
  expect(faultsOf(401, { ...problem, code: 'forbidden' }, 'application/problem+json')).not.toEqual([]);
  expect(fitting.fits({ method: 'GET', path: '/none' }, { status: 200, type: '', body: '' }).operation).toBe('');
});
