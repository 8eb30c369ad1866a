// Requests that no well-behaved client sends, each with the status and the code that it must get. They are small: those that cost
// much are in the corpus.
import { ROUTES } from '../../../schemas/access.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX, JSON_DEPTH_MAX } from '../../../schemas/limits.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';
import { type ApiRequest, TOKENS } from '../api/served-api.ts';

export interface RefusedCase {
  readonly name: string;
  readonly request: ApiRequest;
  readonly status: number;
  readonly code: RejectionCode;
}

type Headers = Readonly<Record<string, string>>;
type Row = readonly [what: string, status: number, code: RejectionCode, request: ApiRequest];

const AUTHORIZED: Headers = { authorization: `Bearer ${TOKENS.operator}` };
const JSON_TYPE: Headers = { 'content-type': 'application/json' };

const get = (path: string, headers: Headers = {}): ApiRequest => ({
  method: 'GET',
  path,
  headers: { ...AUTHORIZED, ...headers },
});

const post = (path: string, body: string | Buffer | object, headers: Headers = JSON_TYPE): ApiRequest => ({
  method: 'POST',
  path,
  headers: { ...AUTHORIZED, ...headers },
  body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
});

/** A session that is there. */
export const HOSTILE_SESSION = 's-hostile';
const of = (rest: string): string => `/v1/sessions/${HOSTILE_SESSION}${rest}`;

const methods: readonly Row[] = ['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK'].flatMap((method) =>
  ['/v1', '/v1/sessions', of('/events'), '/openapi.json'].map((path): Row => [
    `${method} ${path}`,
    404,
    'not_found',
    { ...get(path), method },
  ]),
);

const paths: readonly Row[] = [
  '//',
  '/v1/',
  '/V1',
  '/v1//sessions',
  '/v1/sessions/a/b',
  '/v1/sessions/a/events/b',
  '/v2',
  '/admin',
  '/.git/config',
  '/..%2f..%2f..%2fetc%2fpasswd',
  '/page.js%00',
  '/page.js/',
  '/openapi.json/',
  '/openapi.yaml',
  '/v1/codes/exchange/',
  '/%76%31x',
  '/v1;jsessionid=1',
  '/v1/sessions/a/stream/..%2fevents',
].map((path): Row => [`the path ${path}`, 404, 'not_found', get(path)]);

const ids: readonly Row[] = [
  '__proto__',
  '.hidden',
  '-a',
  'a%20b',
  'a%00b',
  'a%0d%0ab',
  '%e2%80%ae',
  '%f0%9f%98%80',
  '%ff',
  '%',
  'a%2fb',
  'a%5cb',
  'a:b',
  "a'b",
  '*',
  's'.repeat(65),
  's'.repeat(4_000),
].flatMap((id): readonly Row[] => [
  [`the session ${id.slice(0, 12)}… of ${id.length}`, 400, 'invalid_shape', get(`/v1/sessions/${id}`)],
  [`the stream of ${id.slice(0, 12)}… of ${id.length}`, 400, 'invalid_shape', get(`/v1/sessions/${id}/stream`)],
]);

const inherited: readonly Row[] = ['constructor', 'toString', 'hasOwnProperty', 'none'].map((id): Row => [
  `the session ${id}`,
  404,
  'unknown_session',
  get(`/v1/sessions/${id}`),
]);

const blobs: readonly Row[] = [
  'x',
  'sha256:',
  `sha256:${'F'.repeat(64)}`,
  `sha256:${'f'.repeat(63)}`,
  `sha256:${'f'.repeat(65)}`,
  `sha512:${'f'.repeat(64)}`,
  '..%2f..%2fetc%2fpasswd',
  `sha256:${'f'.repeat(63)}%00`,
].map((ref): Row => [`the blob ${ref.slice(0, 16)}… of ${ref.length}`, 400, 'invalid_shape', get(`/v1/blobs/${ref}`)]);

const authorizations: readonly Row[] = [
  '',
  'Bearer',
  'Bearer ',
  `bearer ${TOKENS.operator}`,
  `Bearer  ${TOKENS.operator}`,
  `Bearer ${TOKENS.operator} `.trim() + 'x',
  `Bearer ${TOKENS.operator.slice(1)}`,
  `Bearer ${TOKENS.operator},Bearer ${TOKENS.operator}`,
  `Bearer ${TOKENS.operator} ${TOKENS.operator}`,
  `Basic ${TOKENS.operator}`,
  `Code ${TOKENS.operator}`,
  TOKENS.operator,
  `Bearer ${'a'.repeat(12_000)}`,
  'Bearer __proto__',
  'Bearer null',
].map((authorization): Row => [
  `authorization ${authorization.slice(0, 12)}… of ${authorization.length}`,
  401,
  'unauthorized',
  get('/v1', { authorization }),
]);

const hosts: readonly Row[] = [
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  '127.0.0.1.',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0.0.0.0',
  '[::]',
  '[::ffff:127.0.0.1]',
  'localhost:80@evil.example',
  '127.0.0.1 evil.example',
  '169.254.169.254',
].map((host): Row => [`the host ${host}`, 403, 'forbidden', get('/v1', { host })]);

/** What no URL can be made of. */
const targets: readonly Row[] = ['/\\v1', '/v1\\..\\sessions'].map((path): Row => [
  `the target ${path}`,
  403,
  'forbidden',
  get(path),
]);

const origins: readonly Row[] = [
  { origin: 'null' },
  { origin: '' },
  { origin: 'http://evil.example' },
  { origin: 'http://127.0.0.1' },
  { origin: 'https://127.0.0.1' },
  { origin: 'file://' },
  { origin: 'chrome-extension://a' },
  { origin: 'http://127.0.0.1', 'sec-fetch-site': 'cross-site' },
].flatMap((headers): readonly Row[] => [
  [`an origin ${JSON.stringify(headers)}`, 403, 'forbidden', get('/v1', headers as Headers)],
  [`the document from ${JSON.stringify(headers)}`, 403, 'forbidden', get('/openapi.json', headers as Headers)],
]);

const NUMBERS = [
  '',
  '-1',
  '+1',
  '1.5',
  '1e3',
  '0x10',
  'NaN',
  'Infinity',
  '%20',
  '%d9%a1',
  '9007199254740992',
  '9'.repeat(99),
  '__proto__',
];

const queries: readonly Row[] = [
  ...NUMBERS.flatMap((number): readonly Row[] => [
    [`records from ${number.slice(0, 20)}`, 400, 'invalid_shape', get(of(`/records?from=${number}`))],
    [`events from ${number.slice(0, 20)}`, 400, 'invalid_shape', get(of(`/events?from=${number}`))],
    [`sessions up to ${number.slice(0, 20)}`, 400, 'invalid_shape', get(`/v1/sessions?limit=${number}`)],
  ]),
  ...[
    '?limit=0',
    '?limit=1001',
    '?owing=1',
    '?waiting=TRUE',
    '?status=none',
    '?status=',
    '?after=a%20b',
    '?after=',
    '?none=1',
    '?__proto__=1',
    '?constructor=1',
    '?limit[]=1',
    '?LIMIT=1',
    '?%ff=1',
  ].map((query): Row => [`sessions ${query}`, 400, 'invalid_shape', get(`/v1/sessions${query}`)]),
  ...['?limit=0', '?limit=-1', '?to=1', '?from=0&until=1'].map((query): Row => [
    `records ${query}`,
    400,
    'invalid_shape',
    get(of(`/records${query}`)),
  ]),
  ...['?deltas=0', '?deltas=true', '?deltas=', '?delta=1'].map((query): Row => [
    `events ${query}`,
    400,
    'invalid_shape',
    get(of(`/events${query}`)),
  ]),
  ...['x', '1.0', '1.', '.1', '-1', '1.1.1', '01x', '1%00', '%f0%9f%98%80', '9'.repeat(16), ''].map((after): Row => [
    `the stream after ${after}`,
    400,
    'invalid_shape',
    get(of(`/stream?after=${after}`)),
  ]),
  ['the stream after what is to come', 409, 'position_unknown', get(of('/stream?after=4711'))],
  ['a blob that is perhaps durable', 400, 'invalid_shape', post('/v1/blobs?durable=perhaps', 'x')],
];

const cursors: readonly Row[] = ['x', '-1', '1.5', '1e3', '9'.repeat(400), '', '\u00e9', '1,1']
  .flatMap((id): readonly Row[] => [
    [`events after the id ${id.slice(0, 12)}`, 400, 'invalid_shape', get(of('/events'), { 'last-event-id': id })],
    [`the stream after the id ${id.slice(0, 12)}`, 400, 'invalid_shape', get(of('/stream'), { 'last-event-id': id })],
  ])
  .filter(([what]) => what !== 'the stream after the id 1.5');

const types: readonly Row[] = [
  '',
  'text/plain',
  'text/json',
  'application/json-patch+json',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/jsonx',
  'application/ json',
  'text/plain; application/json',
].map((type): Row => [
  `the content type ${type}`,
  400,
  'malformed_json',
  post('/v1/sessions', '{}', { 'content-type': type }),
]);

const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

const documents: readonly (readonly [string, string | Buffer, number, RejectionCode])[] = [
  ['nothing', '', 400, 'malformed_json'],
  ['a space', ' ', 400, 'malformed_json'],
  ['a brace', '{', 400, 'malformed_json'],
  ['two documents', '{}{}', 400, 'malformed_json'],
  ['a comma at the end', '{"a":1,}', 400, 'malformed_json'],
  ['a comment', '{/**/}', 400, 'malformed_json'],
  ['single quotes', "{'a':1}", 400, 'malformed_json'],
  ['a bare key', '{a:1}', 400, 'malformed_json'],
  ['NaN', '{"a":NaN}', 400, 'malformed_json'],
  ['Infinity', '{"a":-Infinity}', 400, 'malformed_json'],
  ['a leading zero', '{"a":01}', 400, 'malformed_json'],
  ['a plus', '{"a":+1}', 400, 'malformed_json'],
  ['a hexadecimal number', '{"a":0x1}', 400, 'malformed_json'],
  ['a line break in a string', '{"a":"\n"}', 400, 'malformed_json'],
  ['a zero byte', '{"a":"\0"}', 400, 'malformed_json'],
  ['an unknown escape', '{"a":"\\x41"}', 400, 'malformed_json'],
  ['half an escape', '{"a":"\\u00"}', 400, 'malformed_json'],
  ['a byte order mark twice', '\ufeff\ufeff{}', 400, 'malformed_json'],
  ['UTF-16', Buffer.from('{}', 'utf16le'), 400, 'malformed_json'],
  ['bytes that are not UTF-8', Buffer.from([0x7b, 0xff, 0x7d]), 400, 'malformed_json'],
  ['an overlong encoding', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400, 'malformed_json'],
  ['gzip', Buffer.from('1f8b0800000000000003abae0500', 'hex'), 400, 'malformed_json'],
  ['a key twice', '{"a":1,"a":2}', 400, 'duplicate_key'],
  ['a key twice, once with an escape', '{"a":1,"\\u0061":2}', 400, 'duplicate_key'],
  ['__proto__', '{"__proto__":{}}', 400, 'invalid_value'],
  ['an escaped __proto__', '{"\\u005f_proto__":{}}', 400, 'invalid_value'],
  ['a number too large', '{"a":1e999}', 400, 'invalid_value'],
  ['minus zero', '{"a":-0}', 400, 'invalid_value'],
  ['half a surrogate pair', '{"a":"\\ud800"}', 400, 'invalid_value'],
  ['too many levels', deep(JSON_DEPTH_MAX + 1), 400, 'too_deep'],
  ['many more levels', deep(100_000), 400, 'too_deep'],
  ['too many values', `[${'0,'.repeat(BODY_VALUES_MAX)}0]`, 413, 'too_large'],
  ['too many bytes', ' '.repeat(BODY_BYTES_MAX + 1), 413, 'too_large'],
  ['null', 'null', 400, 'invalid_shape'],
  ['a list', '[]', 400, 'invalid_shape'],
  ['a text', '"{}"', 400, 'invalid_shape'],
  ['a number', '0', 400, 'invalid_shape'],
  ['an unknown field', '{"none":1}', 400, 'invalid_shape'],
  ['a field of every object', '{"constructor":{}}', 400, 'invalid_shape'],
];

const JSON_PATHS = Object.values(ROUTES)
  .filter(({ method, path }) => method === 'POST' && path !== '/v1/blobs')
  .map(({ path }) => path.replace(':id', HOSTILE_SESSION));

/** Each document at one route, those that are refused by their shape at every one. */
const bodies: readonly Row[] = documents.flatMap(([what, body, status, code], index) =>
  (code === 'invalid_shape' ? JSON_PATHS : [JSON_PATHS[index % JSON_PATHS.length] ?? '/v1/sessions']).map(
    (path): Row => [`${what} to ${path}`, status, code, post(path, body)],
  ),
);

const run = { kind: 'RunRequested', input: { text: 'go' } };
const owned = { owner: 'o', leases: [] };

const shapes: readonly Row[] = [
  ['a session of no id', 400, 'invalid_shape', post('/v1/sessions', { session_id: 'a/b' })],
  ['a session of the id __proto__', 400, 'invalid_shape', post('/v1/sessions', { session_id: '__proto__' })],
  ['a session that is there', 409, 'session_exists', post('/v1/sessions', { session_id: HOSTILE_SESSION })],
  ['a config of a negative number', 400, 'invalid_shape', post('/v1/sessions', { config: { max_turns: -1 } })],
  ['no events', 400, 'invalid_shape', post(of('/events'), { events: [] })],
  ['257 events', 400, 'invalid_shape', post(of('/events'), { events: Array.from({ length: 257 }, () => run) })],
  ['an event of no kind', 400, 'unknown_kind', post(of('/events'), { events: [{}] })],
  ['an event of an inherited kind', 400, 'unknown_kind', post(of('/events'), { events: [{ kind: 'toString' }] })],
  [
    'an event of the engine',
    403,
    'forbidden_scope',
    post(of('/events'), { events: [{ kind: 'TimeReached', due_at_ms: 1 }] }),
  ],
  [
    'a pause of no run',
    409,
    'run_not_active',
    post(of('/events'), { events: [{ kind: 'RunPaused', run_id: 'run-7' }] }),
  ],
  ['a version to come', 409, 'version_conflict', post(of('/events'), { events: [run], expected_version: 4_711 })],
  ['submits that are no list', 400, 'invalid_shape', post('/v1/submits', { submits: {} })],
  [
    'too many submits',
    400,
    'invalid_shape',
    post('/v1/submits', { submits: Array.from({ length: 10_000 }, () => ({})) }),
  ],
  ['submits of null', 400, 'invalid_shape', post('/v1/submits', { submits: [null] })],
  [
    'a lease of an unknown kind',
    400,
    'invalid_shape',
    post('/v1/leases', { owner: 'o', kinds: ['x'], tools: [], max: 1, wait_ms: 0 }),
  ],
  [
    'a lease that waits for ever',
    400,
    'invalid_shape',
    post('/v1/leases', { owner: 'o', kinds: [], tools: [], max: 1, wait_ms: 1e12 }),
  ],
  ['an owner of spaces', 400, 'invalid_shape', post('/v1/leases/heartbeat', { ...owned, owner: 'a b' })],
  [
    'a heartbeat of too many',
    400,
    'invalid_shape',
    post('/v1/leases/heartbeat', {
      ...owned,
      leases: Array.from({ length: 1_025 }, (_, at) => ({ session_id: 's', effect_id: `e${at}` })),
    }),
  ],
  ['a release of a text', 400, 'invalid_shape', post('/v1/leases/release', { ...owned, all: 'yes' })],
  ['deltas of nothing', 400, 'invalid_shape', post(of('/deltas'), { owner: 'o', effect_id: 'e', epoch: 1, parts: [] })],
  [
    'deltas without a lease',
    409,
    'stale_lease',
    post(of('/deltas'), { owner: 'o', effect_id: 'e', epoch: 1, parts: [{ kind: 'text', text: 'x' }] }),
  ],
  ['a fork at no position', 400, 'invalid_shape', post(of('/forks'), { at: -1 })],
  ['a fork to come', 409, 'position_unknown', post(of('/forks'), { at: 4_711 })],
  ['a join of nothing', 400, 'invalid_shape', post('/v1/blobs/join', { parts: [] })],
  ['a join of what is not there', 404, 'unknown_blob', post('/v1/blobs/join', { parts: [`sha256:${'0'.repeat(64)}`] })],
  ['a code of a bridge', 400, 'invalid_shape', post('/v1/codes', { scope: 'bridge' })],
  ['a code with a name of markup', 400, 'invalid_shape', post('/v1/codes', { scope: 'viewer', name: '<b>' })],
  ['an exchange by a program', 403, 'forbidden', post('/v1/codes/exchange', '', {})],
  ['the end of no page', 404, 'not_found', { ...get('/v1/pages/__proto__'), method: 'DELETE' }],
  ['the deletion of no session', 404, 'unknown_session', { ...get('/v1/sessions/none'), method: 'DELETE' }],
  [
    'a blob that says that it is too large',
    413,
    'too_large',
    post('/v1/blobs', '', { 'content-length': '68719476736' }),
  ],
];

export const REFUSED: readonly RefusedCase[] = [
  ...methods,
  ...paths,
  ...ids,
  ...inherited,
  ...blobs,
  ...authorizations,
  ...hosts,
  ...targets,
  ...origins,
  ...queries,
  ...cursors,
  ...types,
  ...bodies,
  ...shapes,
].map(([name, status, code, request]) => ({ name, status, code, request }));

const HOST = 'host: 127.0.0.1\r\n';
const TOKEN = `authorization: Bearer ${TOKENS.operator}\r\n`;
const HEAD = `${HOST}${TOKEN}`;

/** Bytes that are no request. Each must end its connection, and none may be answered with success. */
export const NO_HTTP: Readonly<Record<string, string | Buffer>> = {
  'a TLS greeting': Buffer.from('16030100a5010000a10303', 'hex'),
  'an SSH greeting': 'SSH-2.0-x\r\n',
  'an HTTP/2 preface': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'random bytes': Buffer.from(Array.from({ length: 512 }, (_, at) => (at * 7_919 + 13) % 256)),
  zeros: Buffer.alloc(4_096),
  'a target that is no path': `GET v1 HTTP/1.1\r\n${HEAD}\r\n`,
  'version 9.9': `GET /v1 HTTP/9.9\r\n${HEAD}\r\n`,
  'an unknown method': `EVIL /v1 HTTP/1.1\r\n${HEAD}\r\n`,
  'a space in the path': `GET /v1 /x HTTP/1.1\r\n${HEAD}\r\n`,
  'a control character in the path': `GET /v1\x01 HTTP/1.1\r\n${HEAD}\r\n`,
  'no host': `GET /v1 HTTP/1.1\r\n${TOKEN}\r\n`,
  'a header without a colon': `GET /v1 HTTP/1.1\r\n${HEAD}x\r\n\r\n`,
  'a space before a colon': `GET /v1 HTTP/1.1\r\n${HEAD}x : y\r\n\r\n`,
  'a header that is folded': `GET /v1 HTTP/1.1\r\n${HEAD}x: y\r\n z\r\n\r\n`,
  'a zero byte in a header': `GET /v1 HTTP/1.1\r\n${HEAD}x: \0\r\n\r\n`,
  'a header of 64 KiB': `GET /v1 HTTP/1.1\r\n${HEAD}x: ${'x'.repeat(65_536)}\r\n\r\n`,
  'headers of 64 KiB': `GET /v1 HTTP/1.1\r\n${HEAD}${'x: y\r\n'.repeat(10_000)}\r\n`,
  'a path of 64 KiB': `GET /${'x'.repeat(65_536)} HTTP/1.1\r\n${HEAD}\r\n`,
  'a negative length': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: -1\r\n\r\n`,
  'a length that is no number': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 1x\r\n\r\n`,
  'two lengths': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
  'a length and chunks': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`,
  'chunks that are not last': `POST /v1/sessions HTTP/1.1\r\n${HEAD}transfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n`,
  'a chunk of no size': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n`,
  'a chunk of a huge size': `POST /v1/sessions HTTP/1.1\r\n${HEAD}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
};
