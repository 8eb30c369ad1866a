// Tests which requests the engine accepts: every Host with every Origin, every Sec-Fetch-Site and every token, on a route that
// changes state.
import type { OutgoingHttpHeaders } from 'node:http';
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
/** What a page sends: `own` is the origin of the address that the request names. */
const ORIGINS = [undefined, 'own', 'null', '', 'http://localhost', 'https://evil.example'] as const;
const SITES = [undefined, 'same-origin'] as const;
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

function* everyCase() {
  for (const host of HOSTS)
    for (const origin of ORIGINS)
      for (const site of SITES) for (const authorization of TOKENS) yield [host, origin, site, authorization] as const;
}

describe('the guard', () => {
  test('accepts only a known host, without an origin or from its own page, with the token', async () => {
    let created = 0;
    for (const [host, origin, site, authorization] of everyCase()) {
      const address = `${host}:${server().served.port}`;
      const headers = {
        host: address,
        'content-type': 'application/json',
        ...(origin === undefined ? {} : { origin: origin === 'own' ? `http://${address.toLowerCase()}` : origin }),
        ...(site === undefined ? {} : { 'sec-fetch-site': site }),
        ...(authorization === undefined ? {} : { authorization }),
      };
      const { status, body } = await send(
        { port: server().served.port, method: 'POST', path: '/v1/sessions', headers },
        '{}',
      );
      const known = KNOWN.has(host) && (origin === undefined || (origin === 'own' && site === 'same-origin'));
      const expected = known ? (authorization === `Bearer ${TOKEN}` ? 201 : 401) : 403;
      expect(status, `${host} ${origin ?? '-'} ${site ?? '-'} ${authorization ?? '-'}`).toBe(expected);
      if (expected === 201) created += 1;
      else expect(JSON.parse(body)).toMatchObject({ code: expected === 401 ? 'unauthorized' : 'forbidden' });
    }
    expect([...everyCase()]).toHaveLength(864);
    // A refused request changes nothing.
    expect((await must(server().engine.client.sessions())).sessions).toHaveLength(created);
  });

  test('takes the engine’s own origin only whole, once, and as a browser sends it', async () => {
    const { port } = server().served;
    const own = `http://127.0.0.1:${port}`;
    const refused: readonly Readonly<Record<string, string | string[]>>[] = [
      { origin: `http://127.0.0.1:${port + 1}`, 'sec-fetch-site': 'same-site' },
      { origin: `http://127.0.0.1:${port + 1}`, 'sec-fetch-site': 'same-origin' },
      { origin: `http://localhost:${port}`, 'sec-fetch-site': 'same-origin' },
      { origin: `https://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' },
      { origin: 'http://127.0.0.1', 'sec-fetch-site': 'same-origin' },
      { origin: `${own}/`, 'sec-fetch-site': 'same-origin' },
      { origin: `${own}.evil.example`, 'sec-fetch-site': 'same-origin' },
      { origin: own, 'sec-fetch-site': 'same-site' },
      { origin: own, 'sec-fetch-site': 'cross-site' },
      { origin: own, 'sec-fetch-site': 'none' },
      { origin: own, 'sec-fetch-site': ['same-origin', 'same-origin'] },
      { origin: [own, own], 'sec-fetch-site': 'same-origin' },
    ];
    const ask = async (headers: Readonly<Record<string, string | string[]>>): Promise<number> => {
      const authorized = { ...headers, authorization: `Bearer ${TOKEN}` } as OutgoingHttpHeaders;
      return (await send({ port, path: '/v1', headers: authorized })).status;
    };
    for (const headers of refused) expect(await ask(headers), `with ${JSON.stringify(headers)}`).toBe(403);
    expect(await ask({ origin: own, 'sec-fetch-site': 'same-origin' })).toBe(200);
  });

  test('guards every route, and every path without a route', async () => {
    for (const path of [
      '/v1',
      '/v1/sessions',
      '/v1/sessions/x/events',
      '/v1/leases',
      '/v1/blobs/x',
      '/index.html',
      '/page.js.map',
      '/licenses.txt',
      '//',
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
