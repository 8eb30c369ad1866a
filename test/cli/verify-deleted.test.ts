// `refold verify --all` beside a running engine: a session that is deleted after it was listed is no fault.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test, vi } from 'vitest';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { verifyCommand } from '../../src/cli/commands/verify.ts';
import { newOutput } from '../../src/cli/output.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { newWorld } from '../support/engine/world.ts';

const served: { client: EngineClient | null } = { client: null };

vi.mock(import('../../src/cli/with-engine.ts'), async (original) => ({
  ...(await original()),
  withEngine: (_directory, work) => work(served.client as EngineClient),
}));

test('a session that is deleted after it was listed is named, and the others are verified', async () => {
  const { engine } = await newWorld();
  const { client } = engine;
  const ids = ['a', 'b', 'c'].map((id): SessionId => brand(id));
  for (const session_id of ids) await must(client.createSession({ session_id }));
  served.client = {
    ...client,
    sessions: (request) => async () => {
      const page = await client.sessions(request)();
      await client.deleteSession(brand('b'))();
      return page;
    },
  };
  const dataDir = await mkdtemp(join(tmpdir(), 'refold-verify-'));
  const run = async (json: boolean): Promise<readonly [number, string]> => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const code = await verifyCommand(
      { sources: [], all: true, laws: false, dataDir },
      newOutput({ stdout, stderr }, json),
    );
    stdout.end();
    return [code, String(stdout.read())];
  };
  const [code, printed] = await run(false);
  expect(printed).toMatch(/^deleted +b: /m);
  expect(printed).toMatch(/^2 streams, .*all verified/m);
  expect(code).toBe(0);
  await rm(dataDir, { recursive: true });
});
