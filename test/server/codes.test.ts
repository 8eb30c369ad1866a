// How a page gets its token, over a real server: what an operator asks for, what the page exchanges, and what is refused.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connect } from '../../src/client/http-client.ts';
import { must } from '../../src/client/must.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Serving } from '../../src/server/listen.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { type RawReply, send } from '../support/engine/raw-http.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { SESSION, type Talk, newWorld } from '../support/engine/world.ts';

const TOKENS = { operator: 'operator-token', bridge: 'bridge-token', viewer: 'viewer-token' } as const;

let engine: Engine;
let talk: Talk;
let serving: Serving;

beforeAll(async () => {
  ({ engine, talk } = await newWorld());
  await talk.create();
});
beforeEach(async () => {
  serving = await serve(engine.client, { tokens: fixedTokens(TOKENS), port: 0, pageDirectory: '/nonexistent' });
  return () => serving.close();
});
afterAll(() => engine.close());

const port = (): number => Number(new URL(serving.url).port);

const ask = (asked: unknown, token: string = TOKENS.operator): Promise<RawReply> => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return send({ port: port(), method: 'POST', path: '/v1/codes', headers }, JSON.stringify(asked));
};

async function newCode(scope: 'operator' | 'viewer' = 'operator'): Promise<string> {
  const { status, body } = await ask({ scope, name: 'ada' });
  expect(status, `answers ${body}`).toBe(201);
  return (JSON.parse(body) as { readonly code: string }).code;
}

const own = (): Record<string, string> => ({ origin: serving.url, 'sec-fetch-site': 'same-origin' });

const exchange = (code: string, headers: Readonly<Record<string, string>> = own()): Promise<RawReply> =>
  send({
    port: port(),
    method: 'POST',
    path: '/v1/codes/exchange',
    headers: { ...headers, authorization: `Code ${code}` },
  });

async function newToken(scope: 'operator' | 'viewer'): Promise<string> {
  const { status, body } = await exchange(await newCode(scope));
  expect(status).toBe(201);
  return (JSON.parse(body) as { readonly token: string }).token;
}

const isRoot = process.getuid?.() === 0;

/** Sends a request with a token as another user, and prints the status of the answer. */
const SENDING = `
  const [uid, url, token] = process.argv.slice(1);
  process.setuid(Number(uid));
  fetch(url, { headers: { authorization: 'Bearer ' + token } }).then(({ status }) => process.stdout.write(String(status)));
`;

const versionNow = async (): Promise<number> => (await must(engine.client.session(SESSION))).state.version;

describe('a page', () => {
  test('of the scope viewer reads, and changes nothing', async () => {
    const page = connect(serving.url, await newToken('viewer'));
    expect((await must(page.session(SESSION))).state.session_id).toBe(SESSION);
    expect(await refusal(page.createSession())).toMatchObject({ code: 'forbidden_scope' });
    await page.close();
  });

  test.runIf(isRoot).each([
    [65_534, 403],
    [0, 200],
  ])(
    'is a process of the user of the engine or of root: the request of user %d is answered %d',
    async (uid, status) => {
      const asking = [SENDING, String(uid), `${serving.url}/v1/sessions`, await newToken('viewer')] as const;
      const { stdout } = await promisify(execFile)(process.execPath, ['-e', ...asking], { cwd: '/' });
      expect(stdout).toBe(String(status));
    },
  );

  test('of the scope operator acts, under the name for which it got its token', async () => {
    const page = connect(serving.url, await newToken('operator'));
    const { state } = await must(page.session(SESSION));
    const policy = { kind: 'ConsentPolicySet', policy: state.consent.policy, by: 'someone else' } as never;
    await must(page.submit(SESSION, { events: [policy] }));
    const last = (await must(page.records(SESSION, state.version))).at(-1);
    expect(JSON.stringify(last)).toContain('"by":"ada"');
    await page.close();
  });

  test('is listed and ended by operators alone', async () => {
    const token = await newToken('operator');
    const authorized = (given: string) => ({ headers: { authorization: `Bearer ${given}` } });
    const listed = await send({ port: port(), path: '/v1/pages', ...authorized(TOKENS.operator) });
    expect(JSON.parse(listed.body)).toMatchObject({ pages: [{ id: 'page.1', scope: 'operator', name: 'ada' }] });
    expect(listed.body).not.toContain(token);
    const end = (given: string, id = 'page.1') =>
      send({ port: port(), method: 'DELETE', path: `/v1/pages/${id}`, ...authorized(given) });
    expect((await end(TOKENS.viewer)).status).toBe(403);
    expect((await end(TOKENS.operator, 'page.2')).status).toBe(404);
    expect((await end(TOKENS.operator)).status).toBe(200);
    expect((await send({ port: port(), path: '/v1', ...authorized(token) })).status).toBe(401);
  });

  test('gets no codes for other pages', async () => {
    expect(await ask({ scope: 'viewer' }, await newToken('operator'))).toMatchObject({ status: 403 });
  });
});

describe('a code', () => {
  test('is given to operators alone, for a page that reads or decides', async () => {
    expect((await ask({ scope: 'viewer' }, TOKENS.bridge)).status).toBe(403);
    expect((await ask({ scope: 'viewer' }, TOKENS.viewer)).status).toBe(403);
    expect((await ask({ scope: 'viewer' }, 'another')).status).toBe(401);
    for (const asked of [{}, { scope: 'bridge' }, { scope: 'viewer', name: '' }, { scope: 'viewer', more: 1 }, null])
      expect((await ask(asked)).status, `with ${JSON.stringify(asked)}`).toBe(400);
  });

  test('and the token stay in no cache', async () => {
    const asked = await ask({ scope: 'viewer' });
    const { code } = JSON.parse(asked.body) as { readonly code: string };
    for (const { headers } of [asked, await exchange(code)]) {
      expect(headers['cache-control']).toBe('no-store');
      expect(headers['set-cookie']).toBeUndefined();
    }
  });

  test('a code is exchanged for no other page, and no other sender', async () => {
    const code = await newCode();
    const senders = [
      {},
      { 'sec-fetch-site': 'same-origin' },
      { origin: serving.url },
      { origin: serving.url, 'sec-fetch-site': 'cross-site' },
      { origin: `http://127.0.0.1:${port() + 1}`, 'sec-fetch-site': 'same-site' },
      { origin: `http://localhost:${port()}`, 'sec-fetch-site': 'same-origin' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { ...own(), host: 'evil.example' },
      { origin: `http://evil.example:${port()}`, 'sec-fetch-site': 'same-origin', host: `evil.example:${port()}` },
    ];
    for (const headers of senders)
      expect((await exchange(code, headers)).status, `with ${JSON.stringify(headers)}`).toBe(403);
    // None of them has used it.
    expect((await exchange(code)).status).toBe(201);
  });

  test('a used and a guessed code are refused, and nothing is recorded', async () => {
    const before = await versionNow();
    const used = await newCode();
    await exchange(used);
    const bearer = { ...own(), authorization: `Bearer ${await newCode()}` };
    const asBearer = await send({ port: port(), method: 'POST', path: '/v1/codes/exchange', headers: bearer });
    for (const refused of [await exchange(used), await exchange(''), await exchange('a'.repeat(43)), asBearer]) {
      expect(refused).toMatchObject({ status: 401 });
      expect(JSON.parse(refused.body)).toMatchObject({ code: 'unauthorized' });
    }
    expect(await versionNow()).toBe(before);
  });

  test('is no token, and a token is no code', async () => {
    const code = await newCode();
    const asToken = { headers: { authorization: `Bearer ${code}` } };
    expect((await send({ port: port(), path: '/v1', ...asToken })).status).toBe(401);
    expect((await exchange(TOKENS.operator)).status).toBe(401);
    expect((await send({ port: port(), path: '/v1', headers: { authorization: `Code ${code}` } })).status).toBe(401);
    expect((await send({ port: port(), path: `/v1?code=${code}&token=${TOKENS.operator}` })).status).toBe(401);
  });
});
