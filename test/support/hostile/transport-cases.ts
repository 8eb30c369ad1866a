// Requests that are hostile before their body is understood: headers, addresses, queries, cursors, bodies in small parts,
// large blobs, and many tiny requests at once.
import { JSON_TYPE, type HostileCase, type HostileRequest, eventsOf, get, post } from './request.ts';

const many = <T>(count: number, make: (index: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));

const alone = (name: string, ...requests: readonly HostileRequest[]): HostileCase => ({
  name: `transport: ${name}`,
  requests: () => Promise.resolve(requests),
});

const PATHS: Readonly<Record<string, string>> = {
  'a long path': `/v1/${'a'.repeat(12_000)}`,
  'a path of slashes': '/'.repeat(12_000),
  'a path of dots': `/v1/${'../'.repeat(4_000)}`,
  'a path of escapes': `/v1/sessions/${'%61'.repeat(4_000)}`,
  'a path of broken escapes': `/v1/sessions/${'%'.repeat(12_000)}`,
  'a path of escaped slashes': `/v1/sessions/${'%2f'.repeat(4_000)}`,
  'a session id of 12,000 characters': `/v1/sessions/${'s'.repeat(12_000)}`,
  'a query of many names': `/v1/sessions?${many(3_000, (at) => `a${at}`).join('&')}`,
  'a query of one name many times': `/v1/sessions?${'limit=1&'.repeat(1_500)}`,
  'a query of separators': `/v1/sessions?${'&'.repeat(12_000)}`,
  'a query of equals signs': `/v1/sessions?${'='.repeat(12_000)}`,
  'a query of pluses': `/v1/sessions?after=${'+'.repeat(12_000)}`,
  'a query of escapes': `/v1/sessions?after=${'%e2%82'.repeat(2_000)}`,
  'a limit of many digits': `/v1/sessions?limit=${'9'.repeat(12_000)}`,
  'a limit of zero': '/v1/sessions?limit=0',
  'the largest limit': '/v1/sessions?limit=1000&owing=true',
  'a list that is filtered': '/v1/sessions?limit=1000&status=terminated',
  'prototype names': '/v1/sessions?__proto__=1&constructor=2&toString=3',
  'a blob that is no digest': `/v1/blobs/${'f'.repeat(12_000)}`,
  'a blob that is not there': `/v1/blobs/sha256:${'f'.repeat(64)}`,
};

const HEADERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'a header of 14,000 characters': { 'x-long': 'x'.repeat(14_000) },
  'sixty headers': Object.fromEntries(many(60, (at) => [`x-${at}`, 'x'.repeat(100)])),
  'a content type of parameters': { 'content-type': `application/json${';a=b'.repeat(3_000)}` },
  'a content type of spaces': { 'content-type': `application/json${' '.repeat(12_000)}x` },
  'a long last-event-id': { 'last-event-id': '9'.repeat(12_000) },
  'an accept of many types': { accept: 'a/b,'.repeat(3_000) },
  'a long Expect': { expect: `x${'-'.repeat(1_000)}` },
};

/** What a page elsewhere, or a program that guesses, sends for a token. */
const EXCHANGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'without a code': {},
  'with a code of 12,000 characters': { authorization: `Code ${'a'.repeat(12_000)}` },
  'with a code of spaces': { authorization: `Code${' '.repeat(12_000)}x` },
  'from another port': { origin: 'http://127.0.0.1:1', 'sec-fetch-site': 'same-site' },
  'from a rebound host': { host: 'evil.example', origin: 'http://evil.example', 'sec-fetch-site': 'same-origin' },
  'from a page without an origin': { origin: 'null', 'sec-fetch-site': 'cross-site' },
  'from an origin of 12,000 characters': { origin: `http://${'a'.repeat(12_000)}`, 'sec-fetch-site': 'same-origin' },
  'without Sec-Fetch-Site': { host: '127.0.0.1:80', origin: 'http://127.0.0.1:80' },
  'with an If-None-Match of many tags': { 'if-none-match': '"a",'.repeat(3_000) },
};

const OWN = { host: '127.0.0.1:80', origin: 'http://127.0.0.1:80', 'sec-fetch-site': 'same-origin' } as const;

const exchangeOf = (headers: Readonly<Record<string, string>>): HostileRequest => ({
  method: 'POST',
  path: '/v1/codes/exchange',
  headers,
});

const CURSORS = [
  '0',
  '1',
  '007',
  '9007199254740991',
  '9007199254740992',
  '-1',
  '1e3',
  '0x10',
  '',
  'NaN',
  '99999999999999999999',
  '\u{1f600}',
];

const blobOf = (bytes: number, parts: number): readonly Buffer[] =>
  many(parts, (at) => Buffer.alloc(Math.ceil(bytes / parts), at));

export const transportCases: readonly HostileCase[] = [
  ...Object.entries(PATHS).map(([name, path]) => alone(name, get(path))),
  ...Object.entries(HEADERS).map(([name, headers]) =>
    alone(
      name,
      { ...get('/v1/sessions/none/events', headers) },
      { ...post('/v1/leases', '{}'), headers: { ...JSON_TYPE, ...headers } },
    ),
  ),
  ...Object.entries(EXCHANGES).map(([name, headers]) =>
    alone(`an exchange ${name}`, exchangeOf(headers), get('/', headers), get('/page.js', headers)),
  ),
  alone(
    '200 guessed codes at once',
    ...many(200, (at) => exchangeOf({ ...OWN, authorization: `Code ${'a'.repeat(40)}${at}` })),
  ),
  alone('64 requests for a code at once', ...many(64, () => post('/v1/codes', { scope: 'viewer' }))),
  ...CURSORS.flatMap((cursor): readonly HostileCase[] => [
    {
      name: `follow: from ${JSON.stringify(cursor)}`,
      requests: async ({ generating }) => {
        const path = eventsOf(await generating());
        return many(8, () => ({ ...get(`${path}?from=${encodeURIComponent(cursor)}`), follows: true }));
      },
    },
    {
      name: `records: from ${JSON.stringify(cursor)}`,
      requests: async ({ generating }) => [
        get(
          `${eventsOf(await generating()).replace('events', 'records')}?from=${encodeURIComponent(cursor)}&limit=1000`,
        ),
      ],
    },
  ]),
  alone('a body in parts of one byte', { ...post('/v1/leases', ''), body: many(2_000, () => Buffer.from('[')) }),
  alone('a body that is not UTF-8', { ...post('/v1/leases', ''), body: Buffer.alloc(1_000_000, 0xff) }),
  alone('a body of byte order marks', { ...post('/v1/leases', ''), body: Buffer.from('\ufeff'.repeat(300_000)) }),
  alone('a body of zeros', { ...post('/v1/leases', ''), body: Buffer.alloc(1_048_576) }),
  alone('a body that is too large', { ...post('/v1/leases', ''), body: Buffer.alloc(1_048_577, 0x20) }),
  alone('a large body in large parts', { ...post('/v1/leases', ''), body: many(40, () => Buffer.alloc(65_536, 0x20)) }),
  alone('an empty blob', { ...post('/v1/blobs', ''), headers: {} }),
  alone('a blob of 16 MiB in one part', {
    ...post('/v1/blobs', ''),
    headers: {},
    body: Buffer.alloc(16 * 1_048_576, 1),
  }),
  alone('a blob of 64 MiB in 1,024 parts', {
    ...post('/v1/blobs', ''),
    headers: {},
    body: blobOf(64 * 1_048_576, 1_024),
  }),
  alone('a blob in 4,000 small parts', { ...post('/v1/blobs', ''), headers: {}, body: blobOf(40_000, 4_000) }),
  {
    name: 'transport: a blob of 48 MiB is read',
    requests: async ({ client }) => {
      const stored = await client.putBlob(Buffer.alloc(48 * 1_048_576, 7))();
      return [get(`/v1/blobs/${stored._tag === 'Right' ? stored.right : ''}`)];
    },
  },
  {
    name: 'transport: arguments in a blob of 8 MiB',
    requests: async ({ client, generating }) => {
      const bytes = Buffer.from(`{"x":[${'{},'.repeat(2_600_000)}0]}`);
      const stored = await client.putBlob(bytes)();
      const arguments_ref = {
        ref: stored._tag === 'Right' ? stored.right : '',
        bytes: bytes.length,
        head: '',
        tail: '',
      };
      const calls = many(4, (at) => ({ call_id: `c${at}`, tool_name: 'free', arguments_ref }));
      return [
        post(eventsOf(await generating()), {
          events: [{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }],
        }),
      ];
    },
  },
  alone('200 tiny requests at once', ...many(200, () => get('/v1'))),
  alone('200 refused requests at once', ...many(200, () => post('/v1/leases', '{'))),
  alone('100 new sessions at once', ...many(100, () => post('/v1/sessions', '{}'))),
  alone(
    '64 heartbeats of 1,024 leases',
    ...many(16, () =>
      post('/v1/leases/heartbeat', {
        owner: 'o',
        leases: many(1_024, (at) => ({ session_id: 's', effect_id: `e${at}` })),
      }),
    ),
  ),
  alone(
    'releases of 1,024 leases',
    ...many(16, () =>
      post('/v1/leases/release', {
        owner: 'o',
        leases: many(1_024, (at) => ({ session_id: 's', effect_id: `e${at}` })),
      }),
    ),
  ),
  alone(
    'waiting leases of 256 sessions',
    ...many(32, () =>
      post('/v1/leases', {
        owner: 'o',
        kinds: ['tool.call'],
        tools: ['*'],
        max: 1,
        wait_ms: 1,
        sessions: many(256, (at) => `s-${at}`),
      }),
    ),
  ),
];
