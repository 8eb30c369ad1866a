// What is opened is closed: an agent, an engine and a bridge leave no descriptor of their directory open.
import { mkdtemp, readdir, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { scriptedProvider } from '../../bridge/index.ts';
import { openFileLedger } from '../../bridge/ledger/file-ledger.ts';
import { type Digest, brand } from '../../schemas/ids.ts';
import { createAgent, tool } from '../../embed/agent/index.ts';
import { must } from '../../src/client/must.ts';
import { openEngine } from '../../src/engine/engine.ts';

let directory = '';
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-descriptors-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

/** The files under the directory that this process has open. */
async function opened(): Promise<readonly string[]> {
  const numbers = await readdir('/proc/self/fd');
  // One of them is that of the list itself, which is closed by now.
  const paths = await Promise.all(numbers.map((number) => readlink(`/proc/self/fd/${number}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(directory));
}

test.runIf(process.platform === 'linux')('an engine', async () => {
  const engine = await must(openEngine({ dataDir: directory }));
  expect((await opened()).length).toBeGreaterThan(0);
  await engine.close();
  expect(await opened()).toEqual([]);
});

test.runIf(process.platform === 'linux')('an agent, also one that closes while a tool hangs', async () => {
  let hang = (): void => undefined;
  const hanging = new Promise<void>((resolve) => (hang = resolve));
  const agent = await createAgent({
    dataDir: directory,
    tools: [
      tool({
        name: 'hang',
        description: 'hangs',
        input: { type: 'object' },
        mode: 'read',
        run: () => {
          hang();
          return new Promise<string>(() => undefined);
        },
      }),
    ],
    model: scriptedProvider(() => ({ calls: [{ name: 'hang', arguments: {} }] })),
    log: () => undefined,
  });
  const run = agent.run('x');
  run.result().catch(() => undefined);
  await hanging;
  expect((await opened()).length).toBeGreaterThan(0);
  await agent.close();
  await new Promise(setImmediate);
  expect(await opened()).toEqual([]);
});

test.runIf(process.platform === 'linux')('a ledger, also when a call ends after it was closed', async () => {
  const ledger = await openFileLedger(directory, brand('owner'));
  const call = {
    session_id: brand<'SessionId'>('s'),
    effect_id: brand<'EffectId'>('e'),
    plan_hash: `sha256:${'0'.repeat(64)}` as Digest,
  };
  await ledger.started(call);
  await ledger.close();
  expect(await opened()).toEqual([]);
  expect(await ledger.ended(call, { kind: 'RunCancelled', run_id: brand('run-1') })).toBe(true);
  ledger.closed(call);
  await ledger.close();
  expect(await opened()).toEqual([]);
});
