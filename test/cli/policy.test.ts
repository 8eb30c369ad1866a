// A change of the policy is made to the policy that was read: none is lost to another that is made at the same time.
import { expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { setPolicy } from '../../src/cli/commands/policy.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';

const SESSION = brand<'SessionId'>('s-1');

async function withSession(use: (client: EngineClient, dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await freshDirectory();
  const engine = await must(openEngine({ dataDir }));
  try {
    await must(engine.client.createSession({ session_id: SESSION }));
    await use(engine.client, dataDir);
  } finally {
    await engine.close();
  }
}

const toolsOf = async (client: EngineClient) => (await must(client.session(SESSION))).state.consent.policy.tools;

test('a rule set between the reading and the setting of another stays', () =>
  withSession(async (client) => {
    const others = ['host.fs.read_file', 'host.fs.write_file', 'host.fs.edit_file'];
    const raced: EngineClient = {
      ...client,
      session: (id) => async () => {
        const read = await client.session(id)();
        const other = others.pop();
        if (other !== undefined) await setPolicy(client, { id: SESSION, tools: `${other}=deny` });
        return read;
      },
    };
    await setPolicy(raced, { id: SESSION, tools: 'host.exec=deny' });
    expect(await toolsOf(client)).toMatchObject({
      'host.exec': 'deny',
      'host.fs.read_file': 'deny',
      'host.fs.write_file': 'deny',
      'host.fs.edit_file': 'deny',
    });
  }));

test('a preset says which rules of single tools it drops', async () => {
  const directories: string[] = [];
  await withSession(async (client, dataDir) => {
    directories.push(dataDir);
    await setPolicy(client, { id: SESSION, tools: 'host.exec=deny,host.fs.write_file=always_ask' });
    const { dropped } = await setPolicy(client, { id: SESSION, name: 'careful', tools: 'host.exec=deny' });
    expect(dropped).toEqual({ 'host.fs.write_file': 'always_ask' });
  });
  const dataDir = String(directories[0]);
  const careful = await refold(['policy', SESSION, 'careful', '--data-dir', dataDir]);
  expect(careful.stdout).toContain('dropped: host.exec=deny; to keep it, add --tool host.exec=deny\n');
  const again = await refold(['policy', SESSION, 'careful', '--data-dir', dataDir, '--json']);
  expect(jsonLines(again.stdout)).toMatchObject([{ dropped: {} }]);
});
