// Submits of one turn of the event loop are sent together, and each is answered as if it were sent alone.
import { type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { JSON_DEPTH_MAX, SUBMITS_TOGETHER_MAX } from '../../schemas/limits.ts';
import type { Submit } from '../../schemas/wire.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { connect } from '../../src/client/index.ts';
import { must } from '../../src/client/must.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { newApp } from '../../src/server/app.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { TOKEN } from '../support/engine/serving.ts';
import { newWorld } from '../support/engine/world.ts';

let engine: Engine;
let client: EngineClient;
let server: Server;
let paths: string[] = [];

beforeAll(async () => {
  ({ engine } = await newWorld());
  const app = newApp(engine.client, { tokens: fixedTokens({ operator: TOKEN }), hosts: ['127.0.0.1'] });
  // A server for these routes that notes each path.
  server = createServer((incoming, outgoing) => {
    paths.push(incoming.url ?? '');
    const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
    const env = { incoming };
    void (async () => {
      const request = new Request(`http://127.0.0.1${incoming.url}`, { method: 'POST', headers });
      const response = await app.fetch(request, env);
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      outgoing.end(await response.text());
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, TOKEN);
});
beforeEach(() => {
  paths = [];
});
afterAll(async () => {
  await client.close();
  server.close();
  await engine.close();
});

const names = (count: number): readonly SessionId[] =>
  Array.from({ length: count }, (_, index) => brand<'SessionId'>(`s${index}`));

const go: Submit = { events: [{ kind: 'RunRequested', input: { text: 'go' } }] };

async function codesOf(submits: readonly (readonly [SessionId, Submit])[]): Promise<readonly string[]> {
  const answers = await Promise.all(submits.map(([id, request]) => client.submit(id, request)()));
  return answers.map((answer) => (answer._tag === 'Left' ? answer.left.code : `done at ${answer.right.version}`));
}

test('one request carries them all, and those beyond its limit go in the next', async () => {
  const ids = names(SUBMITS_TOGETHER_MAX + 2);
  for (const session_id of ids) await must(engine.client.createSession({ session_id }));
  const codes = await codesOf(ids.map((id) => [id, go] as const));
  expect(new Set(codes)).toEqual(new Set(['done at 1']));
  expect(paths).toEqual(['/v1/submits', '/v1/submits']);
});

test('each gets its own answer, in the order of its session', async () => {
  const [one = brand<'SessionId'>(''), two = one] = names(2);
  const pause: Submit = { events: [{ kind: 'RunPaused', run_id: brand('run-1') }] };
  const wrong = { events: [{ kind: 'RunPaused' }] } as unknown as Submit;
  const codes = await codesOf([
    [one, pause],
    [one, pause],
    [brand('unknown'), pause],
    [two, wrong],
    [two, pause],
  ]);
  expect(codes).toEqual(['done at 2', 'wrong_phase', 'unknown_session', 'invalid_shape', 'done at 2']);
  expect(paths).toEqual(['/v1/submits']);
});

test('a submit that makes the whole request invalid is refused alone', async () => {
  const [one = brand<'SessionId'>(''), two = one] = names(2);
  let nested: unknown = 'deep';
  for (let depth = 0; depth < JSON_DEPTH_MAX - 2; depth += 1) nested = [nested];
  const deep = { events: nested } as unknown as Submit;
  const resume: Submit = { events: [{ kind: 'RunResumed', run_id: brand('run-1') }] };
  expect(
    await codesOf([
      [one, deep],
      [two, resume],
    ]),
  ).toEqual(['unknown_kind', 'done at 3']);
  expect(paths.toSorted()).toEqual(['/v1/sessions/s0/events', '/v1/sessions/s1/events', '/v1/submits']);
});

test('a single submit is sent to its own route', async () => {
  const [one = brand<'SessionId'>('')] = names(1);
  expect(await codesOf([[one, go]])).toEqual(['run_already_active']);
  expect(paths).toEqual(['/v1/sessions/s0/events']);
});
