// Where the engine of an agent is: in its process, served to the commands or not, or elsewhere, shared by several workers.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type GenerateReply, scriptedProvider } from '../../bridge/index.ts';
import {
  type Agent,
  type AgentOptions,
  EnginePlaceError,
  type Run,
  createAgent,
  tool,
} from '../../embed/agent/index.ts';
import { must } from '../../src/client/index.ts';
import { openEngine, readToken, serveDataDir, tokenFile } from '../../src/index.ts';
import { jsonLines, refold } from '../support/e2e/refold.ts';

const opened: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of opened.splice(0).toReversed()) await close();
});

async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'refold-place-'));
  opened.push(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const replies: readonly GenerateReply[] = [
  { calls: [{ id: 'a', name: 'pay', arguments: { cents: 5 } }] },
  { content: 'Done.', calls: [] },
];

/** A worker whose model pays 5 cents, after a person has allowed it; `paid` is what its own process paid. */
async function openWorker(place: Omit<AgentOptions, 'model' | 'tools'>) {
  const paid: number[] = [];
  const pay = tool({
    name: 'pay',
    description: 'Pay.',
    input: { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] },
    mode: 'destructive',
    run: ({ cents }) => {
      paid.push(cents);
      return `paid ${cents}`;
    },
  });
  const model = scriptedProvider(({ turn }) => replies[turn - 1] ?? null);
  const agent = await createAgent({ ...place, model, tools: [pay] });
  opened.push(() => agent.close());
  return { agent, paid };
}

async function untilItAsks(run: Run): Promise<void> {
  for await (const part of run) if (part.type === 'question') return;
}

async function serveEngine() {
  const dataDir = await freshDirectory();
  const engine = await must(openEngine({ dataDir }));
  const serving = await serveDataDir(engine.client, { dataDir });
  opened.push(async () => {
    await serving.close();
    await engine.close();
  });
  return { engine: new URL(serving.url), token: await readToken(tokenFile(dataDir, 'operator')) };
}

describe('an engine that an agent serves', () => {
  test('is found by the commands: one lists the call that waits, another one allows it', async () => {
    const dataDir = await freshDirectory();
    const { agent, paid } = await openWorker({ dataDir, serve: true });
    const run = agent.run('Pay 5', { session: 'till' });
    await untilItAsks(run);
    const [listed] = jsonLines((await refold(['approvals', '--json', '--data-dir', dataDir])).stdout);
    expect(listed).toMatchObject({ call_id: 'a', tool_name: 'pay', arguments: { cents: 5 } });
    const digest = String(listed?.['digest']);
    expect(await refold(['approve', 'a', '--digest', digest, '--data-dir', dataDir])).toMatchObject({ code: 0 });
    expect(await run.result()).toMatchObject({ status: 'completed', text: 'Done.' });
    expect(paid).toEqual([5]);
  });

  test('takes only requests with a token of its directory, and its address is withdrawn when it closes', async () => {
    const dataDir = await freshDirectory();
    const { agent } = await openWorker({ dataDir, serve: true });
    expect((await fetch(`${agent.url}/v1/sessions`)).status).toBe(401);
    const viewer = { authorization: `Bearer ${await readToken(tokenFile(dataDir, 'viewer'))}` };
    expect((await fetch(`${agent.url}/v1/sessions`, { headers: viewer })).status).toBe(200);
    expect((await fetch(`${agent.url}/readyz`)).status).toBe(200);
    expect(await readdir(dataDir)).toContain('engine.json');
    await agent.close();
    expect(await readdir(dataDir)).not.toContain('engine.json');
  });

  test('on a port that is taken is refused, and leaves the directory to the next one', async () => {
    const { engine } = await serveEngine();
    const dataDir = await freshDirectory();
    await expect(openWorker({ dataDir, serve: { port: Number(engine.port) } })).rejects.toThrow('EADDRINUSE');
    expect((await openWorker({ dataDir })).agent.url).toBeNull();
  });
});

describe('an engine that workers share', () => {
  test('is used over its address, by an agent that has no data directory', async () => {
    const place = await serveEngine();
    const { agent, paid } = await openWorker(place);
    const run = agent.run('Pay 5');
    for await (const part of run) if (part.type === 'question') await part.answer(true);
    expect(await run.result()).toMatchObject({ status: 'completed', calls: [{ text: 'paid 5' }] });
    expect(paid).toEqual([5]);
    expect(`${agent.url}`).toBe(place.engine.href);
  });

  test('lets one worker finish what another one left, and the effect happens once', async () => {
    const place = await serveEngine();
    const first = await openWorker(place);
    const left = first.agent.run('Pay 5', { session: 'till' });
    await untilItAsks(left);
    await first.agent.close();
    await expect(left.result()).rejects.toThrow('the run of session till is not over');
    const second = await openWorker(place);
    const run = second.agent.run('Pay 5', { session: 'till' });
    for await (const part of run) if (part.type === 'question') await part.answer(true);
    expect(await run.result()).toMatchObject({ status: 'completed', resumed: true, run: 'run-1' });
    expect([first.paid, second.paid]).toEqual([[], [5]]);
  });

  test('shows each worker the questions of all, and takes one answer', async () => {
    const place = await serveEngine();
    const [first, second] = [await openWorker(place), await openWorker(place)] as const;
    const run = first.agent.run('Pay 5', { session: 'till' });
    await untilItAsks(run);
    const [seen] = await second.agent.waiting();
    expect(seen).toMatchObject({ session: 'till', call: 'a' });
    await seen?.answer(true);
    await expect(first.agent.answer({ session: 'till', digest: seen?.digest ?? '' }, true)).rejects.toThrow(
      'is not open',
    );
    expect((await run.result()).status).toBe('completed');
    expect([...first.paid, ...second.paid]).toEqual([5]);
  });

  test('that does not answer, or not with this token, is refused when the agent is opened', async () => {
    const { engine } = await serveEngine();
    await expect(openWorker({ engine, token: 'a'.repeat(64) })).rejects.toThrow('unauthorized');
    await expect(openWorker({ engine: 'http://127.0.0.1:9', token: 'a'.repeat(64) })).rejects.toThrow(
      'does not answer',
    );
  });
});

describe('an agent without one engine', () => {
  const refused = (options: Partial<AgentOptions>): Promise<unknown> =>
    createAgent({ ...options, model: scriptedProvider(() => null) }).then(
      (agent: Agent) => agent.close(),
      (error: unknown) => error,
    );

  test.each<[string, Partial<AgentOptions>, RegExp]>([
    ['both', { dataDir: 'data', engine: 'http://127.0.0.1:9', token: 'a' }, /exclude each other: give dataDir/],
    ['neither', {}, /there is no engine: give dataDir/],
    ['neither', { token: 'a' }, /there is no engine: give dataDir/],
    ['no_token', { engine: 'http://127.0.0.1:9' }, /needs a token: give the content of tokens\/operator/],
    ['not_served', { engine: 'http://127.0.0.1:9', token: 'a', serve: true }, /give dataDir instead of engine/],
  ])('is refused as %s, and told what to give', async (problem, options, message) => {
    const error = await refused(options);
    expect(error).toBeInstanceOf(EnginePlaceError);
    expect(error).toMatchObject({ problem, message: expect.stringMatching(message) });
  });
});
