// `refold delete` beside an engine process that goes on.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { findEngine } from '../../src/cli/engine-address.ts';
import { type EngineClient, must } from '../../src/client/index.ts';
import { type Finished, type Started, freshDirectory, jsonLines, refold, start } from '../support/e2e/refold.ts';

let dataDir: string;
let engine: Started;
let client: EngineClient;

beforeAll(async () => {
  dataDir = join(await freshDirectory(), 'data');
  engine = await start(['serve', '--data-dir', dataDir, '--port', '0']);
  client = (await findEngine(dataDir))?.client as EngineClient;
});

afterAll(async () => {
  await client.close();
  await engine.kill();
});

const created = async (name: string): Promise<string> =>
  (await must(client.createSession({ session_id: brand(name) }))).session_id;

const refoldHere = (...args: readonly string[]): Promise<Finished> => refold([...args, '--data-dir', dataDir]);

describe('delete', () => {
  test('of a session leaves its id and its last chain value, and a second one is refused', async () => {
    const session = await created('gone');
    const { chain } = await must(client.session(brand(session)));
    const [first, second] = [
      await refoldHere('delete', session, '--yes', '--json'),
      await refoldHere('delete', session, '--yes'),
    ];
    expect(first.code).toBe(0);
    expect(jsonLines(first.stdout)).toMatchObject([{ session_id: session, version: 0, chain }]);
    expect(second).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('its id stays taken') });
    expect((await must(client.deletedSessions())).deleted).toMatchObject([{ session_id: session, chain }]);
    expect((await refoldHere('show', session)).stderr).toContain('was deleted');
  });

  test('of a session with a run is refused with what to do, and the run goes on', async () => {
    const session = await created('running');
    await must(client.submit(brand(session), { events: [{ kind: 'RunRequested', input: { text: 'go' } }] }));
    const refused = await refoldHere('delete', session, '--yes');
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining(`refold interrupt ${session}`) });
    expect((await must(client.session(brand(session)))).state.run).not.toBeNull();
  });

  test('without a terminal to ask on deletes nothing', async () => {
    const session = await created('kept');
    const asked = await refoldHere('delete', session);
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
    expect((await must(client.session(brand(session)))).state.version).toBe(0);
  });
});
