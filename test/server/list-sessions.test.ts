// The query of a list of sessions: every value reaches the client as what it is, and a bad one is refused with its path.
import { expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { type RawReply, send } from '../support/engine/raw-http.ts';
import { TOKEN, serveForAll } from '../support/engine/serving.ts';

const server = serveForAll();

const get = (query: string): Promise<RawReply> =>
  send({
    port: server().served.port,
    method: 'GET',
    path: `/v1/sessions${query}`,
    headers: { authorization: `Bearer ${TOKEN}` },
  });

test.each([
  ['', ['a', 'b'], null],
  ['?limit=1&owing=false', ['a'], 'a'],
  ['?after=a&status=idle', ['b'], null],
  ['?owing=true', [], null],
  ['?after=false', [], null],
  ['?after=Z&owing=false', ['a', 'b'], null],
  ['?waiting=false&limit=1000', ['a', 'b'], null],
])('GET /v1/sessions%s answers with a page', async (query, ids, next) => {
  for (const session_id of ['a', 'b']) await server().engine.client.createSession({ session_id: brand(session_id) })();
  const { status, body } = await get(query);
  const page = JSON.parse(body) as {
    readonly sessions: readonly { readonly session_id: string }[];
    readonly next: unknown;
  };
  expect(status).toBe(200);
  expect([page.sessions.map(({ session_id }) => session_id), page.next]).toEqual([ids, next]);
});

test.each([
  ['?limit=x', '/limit'],
  ['?limit=', '/limit'],
  ['?limit=-1', '/limit'],
  ['?limit=0', '/limit'],
  ['?limit=1001', '/limit'],
  ['?after=..', '/after'],
  ['?owing=yes', '/owing'],
  ['?waiting=', '/waiting'],
  ['?status=asleep', '/status'],
  ['?frob=1', '/frob'],
])('GET /v1/sessions%s is refused with the path of the fault', async (query, path) => {
  const { status, body } = await get(query);
  expect([status, JSON.parse(body)]).toEqual([400, expect.objectContaining({ code: 'invalid_shape', path })]);
  expect((await must(server().engine.client.sessions())).next).toBeNull();
});
