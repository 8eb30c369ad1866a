// Tests which requests the engine accepts: every Host with every Origin and every token, on a route that changes state.
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { send } from '../support/engine/raw-http.ts';
import { TOKEN, serveForAll } from '../support/engine/serving.ts';

const server = serveForAll();

const HOSTS = [
  '127.0.0.1',
  'localhost',
  '[::1]',
  'LOCALHOST',
  'evil.example',
  'localhost.evil.example',
  '127.0.0.1.',
  '0.0.0.0',
  '169.254.169.254',
] as const;
const ORIGINS = [undefined, 'null', '', 'http://localhost', 'https://evil.example'] as const;
const TOKENS = [
  undefined,
  '',
  'Bearer',
  `Bearer ${TOKEN}`,
  `Bearer ${TOKEN}x`,
  `bearer ${TOKEN}`,
  `Basic ${TOKEN}`,
  `Bearer ${TOKEN.slice(1)}`,
] as const;

const KNOWN = new Set<string>(['127.0.0.1', 'localhost', '[::1]', 'LOCALHOST']);

describe('the guard', () => {
  test('accepts only a known host, without an origin, with the token', async () => {
    let cases = 0;
    let created = 0;
    for (const host of HOSTS) {
      for (const origin of ORIGINS) {
        for (const authorization of TOKENS) {
          const headers = {
            host: `${host}:${server().served.port}`,
            'content-type': 'application/json',
            ...(origin === undefined ? {} : { origin }),
            ...(authorization === undefined ? {} : { authorization }),
          };
          const { status, body } = await send(
            { port: server().served.port, method: 'POST', path: '/v1/sessions', headers },
            '{}',
          );
          const known = KNOWN.has(host) && origin === undefined;
          const expected = known ? (authorization === `Bearer ${TOKEN}` ? 201 : 401) : 403;
          expect(status, `${host} ${origin ?? '-'} ${authorization ?? '-'}`).toBe(expected);
          if (expected === 201) created += 1;
          else expect(JSON.parse(body)).toMatchObject({ code: expected === 401 ? 'unauthorized' : 'forbidden' });
          cases += 1;
        }
      }
    }
    expect(cases).toBe(360);
    // A refused request changes nothing.
    expect((await must(server().engine.client.sessions())).sessions).toHaveLength(created);
  });

  test('guards every route, and every path without a route', async () => {
    for (const path of [
      '/v1',
      '/v1/sessions',
      '/v1/sessions/x/events',
      '/v1/leases',
      '/v1/blobs/x',
      '/',
      '/favicon.ico',
    ]) {
      for (const method of ['GET', 'POST', 'OPTIONS', 'DELETE', 'HEAD']) {
        expect((await send({ port: server().served.port, method, path })).status, `${method} ${path}`).toBe(401);
      }
    }
  });

  test('sends no CORS header', async () => {
    const headers = { authorization: `Bearer ${TOKEN}`, 'access-control-request-method': 'POST' };
    const { headers: answered } = await send({ port: server().served.port, method: 'OPTIONS', path: '/v1', headers });
    expect(Object.keys(answered).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });
});
