// Request bodies are bounded, and every refusal is problem details.
import { describe, expect, test } from 'vitest';
import { BODY_BYTES_MAX } from '../../schemas/limits.ts';
import { REJECTIONS, type RejectionCode, reject } from '../../schemas/rejection.ts';
import { Problem } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { newApp } from '../../src/server/app.ts';
import { problemOf, problemResponse } from '../../src/server/problem.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { type RawReply, send, sendBytes } from '../support/engine/raw-http.ts';
import { TOKEN, serveForAll } from '../support/engine/serving.ts';

const server = serveForAll();

const authorization = `Bearer ${TOKEN}`;

const post = (path: string, body: string | Buffer, type = 'application/json'): Promise<RawReply> =>
  send({ port: server().served.port, method: 'POST', path, headers: { authorization, 'content-type': type } }, body);

const codeOf = ({ body }: RawReply): unknown => (JSON.parse(body) as { readonly code?: unknown }).code;

describe('a body', () => {
  test.each([
    ['not JSON', 'x', 400, 'malformed_json'],
    ['empty', '', 400, 'malformed_json'],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 400, 'malformed_json'],
    ['an object with one key twice', '{"session_id":"a","session_id":"b"}', 400, 'duplicate_key'],
    ['an object with the key __proto__', '{"__proto__":{}}', 400, 'invalid_value'],
    ['nested too deeply', '['.repeat(1_000), 400, 'too_deep'],
    ['10 MB of brackets', '['.repeat(10_000_000), 413, 'too_large'],
    ['one byte too long', ' '.repeat(BODY_BYTES_MAX + 1), 413, 'too_large'],
    ['of another shape', '[]', 400, 'invalid_shape'],
  ])('that is %s is refused', async (_name, body, status, code) => {
    const reply = await post('/v1/sessions', body);
    expect([reply.status, codeOf(reply)]).toEqual([status, code]);
    expect(reply.headers['content-type']).toBe('application/problem+json');
    expect((await must(server().engine.client.sessions())).sessions).toEqual([]);
  });

  test.each(['', 'text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', 'application/jsonx'])(
    'of the type "%s" is not read',
    async (type) => {
      expect(codeOf(await post('/v1/sessions', '{}', type))).toBe('malformed_json');
      expect((await must(server().engine.client.sessions())).sessions).toEqual([]);
    },
  );

  test('without a length is read no further than its limit', async () => {
    const head = `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n`;
    const chunk = `10000\r\n${'['.repeat(0x10000)}\r\n`;
    const reply = await sendBytes(server().served.port, [
      head,
      ...Array.from({ length: 40 }, () => chunk),
      '0\r\n\r\n',
    ]);
    expect(reply).toContain('413');
    expect(reply).toContain('too_large');
  });

  test('with a wrong length is handled by the stated length, and the rest is not part of it', async () => {
    const head = (length: number): string =>
      `POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    expect(await sendBytes(server().served.port, [head(BODY_BYTES_MAX + 1), '{}'])).toContain('too_large');
    // The stated length is shorter than the body: the rest is another request, which is malformed.
    expect(await sendBytes(server().served.port, [head(1), '[]'])).toContain('400');
    expect((await must(server().engine.client.sessions())).sessions).toEqual([]);
  });

  test('is accepted with no other method', async () => {
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      const headers = { authorization, 'content-type': 'application/json', 'content-length': 2 };
      const reply = await send({ port: server().served.port, method, path: '/v1/sessions', headers }, '{}');
      expect([reply.status, codeOf(reply)]).toEqual([404, 'not_found']);
    }
  });

  test('of a request without a host is not read', async () => {
    expect(await sendBytes(server().served.port, ['GET /v1 HTTP/1.1\r\nConnection: close\r\n\r\n'])).toContain('400');
    const old = await sendBytes(server().served.port, ['GET /v1 HTTP/1.0\r\n\r\n']);
    expect(old).not.toContain(' 200 ');
    expect(old).not.toMatch(/at .*\.(ts|js)/);
  });
});

describe('a number in a query', () => {
  test.each([
    'records?from=x',
    'records?from=-1',
    'records?limit=0',
    'records?limit=1e3',
    'events?from=99999999999999999',
  ])('is refused when it is invalid: %s', async (tail) => {
    const id = (await must(server().engine.client.createSession())).session_id;
    const reply = await send({
      port: server().served.port,
      path: `/v1/sessions/${id}/${tail}`,
      headers: { authorization },
    });
    expect([reply.status, codeOf(reply)]).toEqual([400, 'invalid_shape']);
  });
});

test('a fault inside the engine is answered as one, not as a fault of the journal, and tells nothing else', async () => {
  const faults: unknown[] = [];
  const broken = {
    info: () => () => Promise.reject(new RangeError('Invalid string length in /home/me/x.ts')),
  } as unknown as EngineClient;
  const tokens = fixedTokens({ operator: TOKEN });
  const app = newApp(broken, { tokens, hosts: ['localhost'], onError: (error) => faults.push(error) });
  const response = await app.request('http://localhost/v1', { headers: { authorization, host: 'localhost' } });
  const text = await response.text();
  expect(response.status).toBe(500);
  expect(JSON.parse(text)).toMatchObject({ code: 'internal', status: 500 });
  expect(text).not.toMatch(/journal|home|Invalid/);
  expect(faults).toHaveLength(1);
});

describe('problem details', () => {
  const statuses: Partial<Record<RejectionCode, number>> = {
    malformed_json: 400,
    unauthorized: 401,
    forbidden: 403,
    unknown_session: 404,
    version_conflict: 409,
    stale_lease: 409,
    too_large: 413,
    queue_full: 429,
    damaged: 500,
    internal: 500,
    closing: 503,
    storage_failed: 503,
  };

  test.each(Object.keys(REJECTIONS) as RejectionCode[])('contain the code %s', async (code) => {
    const response = problemResponse(reject(code, '/a', 'why'));
    const problem: unknown = await response.json();
    expect(Problem.is(problem)).toBe(true);
    expect(problem).toMatchObject({ code, path: '/a', status: response.status, type: `urn:refold:rejection:${code}` });
    if (statuses[code] !== undefined) expect(response.status).toBe(statuses[code]);
  });

  test.each([
    "ENOSPC: no space left on device, write '/home/me/data/journal/000042.log'",
    'IO error: /var/lib/refold/LOCK: busy',
    String.raw`cannot open C:\Users\me\journal`,
    'thrown at file:///srv/refold/dist/x.js:1:2',
  ])('do not name files of the machine: %s', (message) => {
    const { detail = '' } = problemOf(reject('storage_failed', '', message));
    expect(detail).toContain('(a file)');
    expect(detail).not.toMatch(/home|var|Users|srv|journal/);
  });

  test('are never longer than their limits', () => {
    expect(Problem.is(problemOf(reject('invalid_shape', 'x'.repeat(9_000), '\u{1f600}'.repeat(9_000))))).toBe(true);
  });
});
