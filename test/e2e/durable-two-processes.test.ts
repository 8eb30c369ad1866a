// Two processes that run one session at the same time: one of them runs it to its end, the other one is told, and each effect
// happens once. On an engine that both use, and on one data directory.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { must } from '../../src/client/index.ts';
import { openEngine, readToken, serveDataDir, tokenFile } from '../../src/index.ts';
import { ROOT, refold } from '../support/e2e/refold.ts';

// Inside the package, so that `refold/ai-sdk` is the package itself.
const FOLDER = join(ROOT, 'dist/durable-two-processes');

// It says when it is ready and when its model is asked, and waits for a line each time; then it says how it ended.
const PROGRAM = `
import { appendFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { durable } from 'refold/ai-sdk';

const { place, world } = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const told = async (what) => {
  console.log(what);
  await lines.next();
};
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const model = {
  specificationVersion: 'v3', provider: 'p', modelId: 'm', supportedUrls: {},
  async doGenerate({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
    appendFileSync(world, 'turn ' + turn + '\\n');
    if (turn === 1) await told('asked');
    const content = turn === 1
      ? [{ type: 'tool-call', toolCallId: 'r1', toolName: 'refund', input: '{}' }]
      : [{ type: 'text', text: 'Done.' }];
    return { content, finishReason: { unified: turn === 1 ? 'tool-calls' : 'stop', raw: 'r' }, usage, warnings: [] };
  },
};
const refund = { description: 'Refund.', inputSchema: { type: 'object' }, execute: () => {
  appendFileSync(world, 'refund\\n');
  return 'refunded';
} };
await told('ready');
let agent;
try {
  agent = await durable({ ...place, session: 'shop', run: 'refund', model, tools: { refund }, consent: 'allow_all', leaseTtlMs: 1_000 });
  // As generateText does.
  const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Refund' }] }];
  const tools = [{ type: 'function', name: 'refund', ...refund }];
  const { content: [call] } = await agent.model.doGenerate({ prompt, tools });
  const value = await agent.tools.refund.execute({}, { toolCallId: 'r1', messages: [] });
  prompt.push({ role: 'assistant', content: [{ ...call, input: {} }] });
  prompt.push({ role: 'tool', content: [{ type: 'tool-result', toolCallId: 'r1', toolName: 'refund', output: { type: 'text', value } }] });
  const { content: [text] } = await agent.model.doGenerate({ prompt, tools });
  console.log(text.text);
} catch (error) {
  console.log(error.name);
}
await agent?.close();
process.exit(0);
`;

let directory: string;
const running: ChildProcess[] = [];
const opened: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'program.mjs'), PROGRAM);
});
afterAll(() => rm(FOLDER, { recursive: true }));

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-two-'));
});
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
  for (const close of opened.splice(0).toReversed()) await close();
  await rm(directory, { recursive: true });
});

interface Started {
  readonly next: () => Promise<string>;
  readonly goOn: () => void;
}

function start(place: object): Started {
  const job = JSON.stringify({ place, world: join(directory, 'world') });
  const child = spawn(process.execPath, [join(FOLDER, 'program.mjs'), job], { stdio: ['pipe', 'pipe', 'inherit'] });
  running.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    next: async () => String((await lines.next()).value),
    goOn: () => void child.stdin.write('\n'),
  };
}

/** Starts both at the same time; the model of the one that wins waits until the other one has been told. */
async function race(places: readonly [object, object]): Promise<void> {
  const both = places.map(start);
  for (const one of both) expect(await one.next()).toBe('ready');
  for (const one of both) one.goOn();
  const said = await Promise.all(both.map((one) => one.next()));
  expect(said.toSorted()).toEqual(['SessionInUse', 'asked']);
  const winner = both[said.indexOf('asked')] as Started;
  winner.goOn();
  expect(await winner.next()).toBe('Done.');
  await Promise.all(running.map(async (child) => child.exitCode ?? (await once(child, 'exit'))));
  expect(await readFile(join(directory, 'world'), 'utf8')).toBe('turn 1\nrefund\nturn 2\n');
}

test('on one engine', async () => {
  const dataDir = join(directory, 'data');
  const engine = await must(openEngine({ dataDir }));
  opened.push(() => engine.close());
  const serving = await serveDataDir(engine.client, { dataDir });
  opened.push(() => serving.close());
  const place = { engine: serving.url, token: await readToken(tokenFile(dataDir, 'operator')) };
  await race([place, place]);
  await serving.close();
  await engine.close();
  opened.length = 0;
  expect(await refold(['verify', 'shop', '--laws', '--data-dir', dataDir])).toMatchObject({ code: 0, stderr: '' });
});

test('on one data directory', async () => {
  const dataDir = join(directory, 'data');
  await race([{ dataDir }, { dataDir }]);
  expect(await refold(['verify', 'shop', '--laws', '--data-dir', dataDir])).toMatchObject({ code: 0, stderr: '' });
});
