// Requests that are refused before any body is read: methods, paths, ids, tokens, hosts, origins, queries and cursors.
import { TOKENS } from '../api/served-api.ts';
import { type Headers, type Row, get, of, post } from './refused-row.ts';

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

export const ADDRESSES: readonly Row[] = [
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
];
