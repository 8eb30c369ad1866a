// A loop of the AI SDK, imitated, that is killed anywhere and started again ends with every effect once, or reported as
// unknown. Real processes: at every durable boundary, in the model and in each function, and at random instants.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT, refold } from '../support/e2e/refold.ts';
import { roundsOf } from '../support/random.ts';

// Inside the package, so that `refold/ai-sdk` is the package itself.
const FOLDER = join(ROOT, 'dist/durable-crash');

// It writes a line for what it does to the world, and kills itself at the place that its argument names.
const PROGRAM = `
import { appendFileSync } from 'node:fs';
import { durable } from 'refold/ai-sdk';

const [directory, crashAt] = process.argv.slice(2);
const mark = (line) => appendFileSync(directory + '/world', line + '\\n');
const at = (place) => {
  if (crashAt === 'list') console.log(place);
  if (place === crashAt) process.kill(process.pid, 'SIGKILL');
};
const inputSchema = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };
const tools = {
  find: { description: 'Find.', inputSchema, execute: ({ order }) => {
    at('in find ' + order);
    return { order, cents: 7 };
  } },
  refund: { description: 'Refund.', inputSchema, execute: ({ order }) => {
    at('before refund ' + order);
    mark('refund ' + order);
    at('after refund ' + order);
    return 'refunded ' + order;
  } },
};
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const call = (toolName, order) => ({ type: 'tool-call', toolCallId: toolName + order, toolName, input: JSON.stringify({ order }) });
const model = {
  specificationVersion: 'v3', provider: 'p', modelId: 'm', supportedUrls: {},
  async doGenerate({ prompt }) {
    const turn = prompt.filter(({ role }) => role === 'assistant').length + 1;
    mark('turn ' + turn);
    at('in turn ' + turn);
    const content = turn === 3 ? [{ type: 'text', text: 'Done.' }] : ['a', 'b'].map((order) => call(turn === 1 ? 'find' : 'refund', order));
    return { content, finishReason: { unified: turn === 3 ? 'stop' : 'tool-calls', raw: 'r' }, usage, warnings: [] };
  },
};
const agent = await durable({
  dataDir: directory + '/data', session: 'shop', run: 'both', model, tools, consent: 'allow_all', hints: { find: { mode: 'read' } },
});
at('opened');
void (async () => {
  while ((await agent.client.session('shop')())._tag === 'Left') await new Promise(setImmediate);
  for await (const { position } of agent.client.followCommits('shop')) at('commit ' + position);
})().catch(() => undefined);

// As generateText does.
const prompt = [{ role: 'user', content: [{ type: 'text', text: 'Refund both' }] }];
const ends = {};
for (;;) {
  const offered = Object.entries(agent.tools).map(([name, tool]) => ({ type: 'function', name, ...tool }));
  const { content } = await agent.model.doGenerate({ prompt: [...prompt], tools: offered });
  const calls = content.filter(({ type }) => type === 'tool-call');
  if (calls.length === 0) break;
  prompt.push({ role: 'assistant', content: calls.map((one) => ({ ...one, input: JSON.parse(one.input) })) });
  const results = await Promise.all(calls.map(async ({ toolCallId, toolName, input }) => {
    const result = { type: 'tool-result', toolCallId, toolName };
    try {
      const value = await agent.tools[toolName].execute(JSON.parse(input), { toolCallId, messages: [] });
      ends[toolName + JSON.parse(input).order] = 'succeeded';
      return { ...result, output: { type: 'json', value } };
    } catch (error) {
      ends[toolName + JSON.parse(input).order] = error.status;
      return { ...result, output: { type: 'error-text', value: error.message } };
    }
  }));
  prompt.push({ role: 'tool', content: results });
}
at('answered');
await agent.close();
at('closed');
console.log(JSON.stringify(ends));
process.exit(0);
`;

/** What an undisturbed run comes by, and how long it takes. */
let places: readonly string[];
let tookMs: number;

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'program.mjs'), PROGRAM);
  const whole = await newDirectory();
  const from = performance.now();
  places = (await start(whole, 'list')).printed.filter((line) => !line.startsWith('{'));
  tookMs = performance.now() - from;
  await rm(whole, { recursive: true });
});

afterAll(() => rm(FOLDER, { recursive: true }));

async function start(directory: string, crashAt: string, killAfterMs: number | null = null) {
  const child = spawn(process.execPath, [join(FOLDER, 'program.mjs'), directory, crashAt], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const timer = killAfterMs === null ? null : setTimeout(() => child.kill('SIGKILL'), killAfterMs);
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  if (timer !== null) clearTimeout(timer);
  return { signal, printed: printed.trimEnd().split('\n') };
}

const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'refold-durable-crash-'));

/** Starts the program again, and checks what it and the world have come to. */
async function goOn(directory: string): Promise<void> {
  const { printed } = await start(directory, 'nowhere');
  const ends = JSON.parse(printed.at(-1) ?? '') as Record<string, string>;
  const world = (await readFile(join(directory, 'world'), 'utf8')).trimEnd().split('\n');
  expect([ends['finda'], ends['findb']]).toEqual(['succeeded', 'succeeded']);
  for (const order of ['a', 'b']) {
    const times = world.filter((line) => line === `refund ${order}`).length;
    expect(['succeeded 1', 'unknown 0', 'unknown 1']).toContain(`${ends[`refund${order}`]} ${times}`);
  }
  // A killed request may have to be made again, and nothing else is.
  expect([3, 4]).toContain(world.filter((line) => line.startsWith('turn ')).length);
  const verified = await refold(['verify', 'shop', '--laws', '--data-dir', join(directory, 'data')]);
  expect(verified).toMatchObject({ code: 0 });
  await rm(directory, { recursive: true });
}

test('killed at each place of a run, it goes on: every refund once, or told as unknown', async () => {
  expect(places).toEqual(expect.arrayContaining(['in turn 1', 'in find a', 'after refund b', 'answered']));
  expect(places.filter((place) => place.startsWith('commit')).length).toBeGreaterThan(6);
  const chosen = roundsOf(1, 10) > 1 ? places : ['before refund a', 'after refund b'];
  const unvisited: string[] = [];
  for (const place of chosen) {
    const directory = await newDirectory();
    if ((await start(directory, place)).signal !== 'SIGKILL') unvisited.push(place);
    await goOn(directory);
  }
  // Which commits there are depends on what was written together.
  expect(unvisited.filter((place) => !place.startsWith('commit'))).toEqual([]);
});

test('killed at random instants, it goes on', async () => {
  const rounds = roundsOf(1, 200);
  for (let round = 0; round < rounds; round += 1) {
    const directory = await newDirectory();
    await start(directory, 'nowhere', tookMs * (0.3 + (0.7 * (round + 0.5)) / rounds));
    if (existsSync(join(directory, 'data'))) await goOn(directory);
    else await rm(directory, { recursive: true });
  }
  expect(rounds).toBeGreaterThan(0);
});
