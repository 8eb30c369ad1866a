// A program that is started again with another version of a tool, while calls of the earlier one are owed.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { scriptedProvider } from '../../bridge/index.ts';
import { type Agent, type ToolOptions, createAgent, tool } from '../../embed/agent/index.ts';

const open: Agent[] = [];
const directories: string[] = [];

afterEach(async () => {
  for (const agent of open.splice(0)) await agent.close();
  for (const directory of directories.splice(0)) await rm(directory, { recursive: true, force: true });
});

const newDirectory = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'refold-changed-'));
  directories.push(directory);
  return directory;
};

const INPUT = { type: 'object', properties: { dir: { type: 'string' } } } as const;
type Version = Pick<ToolOptions<typeof INPUT, never, unknown>, 'description' | 'mode' | 'ask'>;

/** The program in one version, whose model calls the tool for two directories; `run` is told which one it is called for. */
async function openProgram(dataDir: string, version: Version, run: (dir: string) => unknown): Promise<Agent> {
  const model = scriptedProvider(({ turn }) => {
    const calls = ['one', 'two'].map((dir) => ({ id: dir, name: 'clean_up', arguments: { dir } }));
    return turn === 1 ? { calls } : { content: 'done', calls: [] };
  });
  const cleanUp = tool({ name: 'clean_up', input: INPUT, run: ({ dir }) => run(dir ?? ''), ...version });
  const agent = await createAgent({ dataDir, model, tools: [cleanUp], leaseTtlMs: 1_000 });
  open.push(agent);
  return agent;
}

/** Starts a run, and leaves it while its first call runs. */
async function leaveDuringFirst(dataDir: string, version: Version): Promise<void> {
  let began = (): void => undefined;
  const running = new Promise<void>((resolve) => (began = resolve));
  const agent = await openProgram(dataDir, version, async () => {
    began();
    await new Promise(() => undefined);
  });
  agent
    .run('Tidy up', { session: 'home' })
    .result()
    .catch(() => undefined);
  await running;
  await agent.close();
}

test('a call that did not ask asks, when its tool has become a dangerous one', async () => {
  const dataDir = await newDirectory();
  await leaveDuringFirst(dataDir, { description: 'Tidies.', mode: 'safe_write' });
  const ran: string[] = [];
  const agent = await openProgram(dataDir, { description: 'Tidies.', mode: 'destructive' }, (dir) => ran.push(dir));
  expect(await agent.waiting()).toMatchObject([{ call: 'two', tool: 'clean_up' }]);
  const run = agent.run('', { session: 'home' });
  for await (const part of run) {
    if (part.type !== 'question') continue;
    expect(ran).toEqual([]);
    await part.answer(true);
  }
  expect([ran, (await run.result()).status]).toEqual([['two'], 'completed']);
});

test('an approval that waits is void when the tool says something else of itself, and the new code does not run', async () => {
  const dataDir = await newDirectory();
  const ran: string[] = [];
  const first = await openProgram(dataDir, { description: 'Lists.', ask: true }, (dir) => ran.push(dir));
  const left = first.run('Tidy up', { session: 'home' });
  left.result().catch(() => undefined);
  for await (const part of left) if (part.type === 'question') break;
  const [shown] = await first.waiting();
  await first.close();
  const second = await openProgram(dataDir, { description: 'Deletes.', ask: true }, (dir) => ran.push(dir));
  const question = shown ?? expect.fail('nothing waits');
  await expect(second.answer(question, true)).rejects.toThrow('waits for no answer');
  expect((await second.run('', { session: 'home' }).result()).status).toBe('completed');
  expect(ran).toEqual([]);
});
