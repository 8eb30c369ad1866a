// A server whose engine is still loading: it listens, and answers once the engine is open.
import { expect, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { serve } from '../../src/server/serve.ts';
import { fixedTokens } from '../../src/server/tokens.ts';
import { newWorld } from '../support/engine/world.ts';

const TOKEN = 'a'.repeat(64);

test('a request that comes before the engine is open waits for it', async () => {
  const { engine } = await newWorld();
  let open: (client: EngineClient) => void = () => undefined;
  const opening = new Promise<EngineClient>((resolve) => {
    open = resolve;
  });
  const serving = await serve(opening, { tokens: fixedTokens({ operator: TOKEN }), port: 0 });
  const client = connect(serving.url, TOKEN);
  const early = must(client.info());
  open(engine.client);
  expect(await early).toMatchObject({ name: 'refold' });
  await client.close();
  await serving.close();
  await engine.close();
});

test('when the engine cannot be opened, waiting requests end with the server', async () => {
  let fail: (error: Error) => void = () => undefined;
  const opening = new Promise<EngineClient>((_, reject) => {
    fail = reject;
  });
  const serving = await serve(opening, { tokens: fixedTokens({ operator: TOKEN }), port: 0 });
  const client = connect(serving.url, TOKEN);
  const early = client.info()();
  fail(new Error('another engine has it'));
  await serving.close();
  expect(await early).toMatchObject({ _tag: 'Left' });
  await client.close();
});

test.each(['', ' ', 'a line\n', 'žluť', undefined])('the token %j is refused', (token) => {
  expect(() => fixedTokens({ operator: token as string })).toThrow('token must be');
});
