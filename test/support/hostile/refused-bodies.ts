// Requests whose bodies are refused: by their type, as JSON, and by their shape.
import { ROUTES, type RouteName } from '../../../schemas/access.ts';
import { BODY_BYTES_MAX, BODY_VALUES_MAX, JSON_DEPTH_MAX } from '../../../schemas/limits.ts';
import type { RejectionCode } from '../../../schemas/rejection.ts';
import { ROUTE_SHAPES } from '../../../src/server/api/route-shapes.ts';
import { HOSTILE_SESSION, type Row, get, of, post } from './refused-row.ts';

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

const JSON_PATHS = (Object.keys(ROUTES) as readonly RouteName[])
  .filter((name) => {
    const { body } = ROUTE_SHAPES[name] as { readonly body?: object };
    return body !== undefined && 'jsonSchema' in body;
  })
  .map((name) => ROUTES[name].path.replace(':id', HOSTILE_SESSION));

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

export const BODIES: readonly Row[] = [...types, ...bodies, ...shapes];
