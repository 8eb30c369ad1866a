// An agent that is killed anywhere and started again ends with every effect once, or reported as unknown. Real processes.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RunResult } from '../../embed/agent/index.ts';
import { ROOT, refold } from '../support/e2e/refold.ts';
import { roundsOf } from '../support/random.ts';

// Inside the package, so that `refold/agent` is the package itself.
const FOLDER = join(ROOT, 'dist/agent-crash');

// It writes a line for what it does to the world, and kills itself at the place that its argument names.
const PROGRAM = `
import { appendFileSync } from 'node:fs';
import { scriptedProvider } from 'refold/bridge';
import { createAgent, tool } from 'refold/agent';

const [directory, crashAt, key] = process.argv.slice(2);
const mark = (line) => appendFileSync(directory + '/world', line + '\\n');
const at = (place) => void (place === crashAt && process.kill(process.pid, 'SIGKILL'));
const input = { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] };

const find = tool({ name: 'find', description: 'Find.', input, mode: 'read', run: ({ order }) => {
  at('in find ' + order);
  return { order, cents: 7 };
} });
const refund = tool({ name: 'refund', description: 'Refund.', input, mode: 'destructive', run: ({ order }) => {
  at('before refund ' + order);
  mark('refund ' + order);
  at('after refund ' + order);
  return 'refunded ' + order;
} });
const call = (name, order) => ({ id: name + order, name, arguments: { order } });
const model = scriptedProvider(({ turn }) => {
  mark('turn ' + turn);
  at('in turn ' + turn);
  if (turn === 1) return { calls: [call('find', 'a'), call('find', 'b')] };
  return turn === 2 ? { calls: [call('refund', 'a'), call('refund', 'b')] } : { content: 'Done.', calls: [] };
});
const agent = await createAgent({ dataDir: directory + '/data', model, tools: [find, refund] });
at('opened');
const run = agent.run('Refund both', { session: 'shop', ...(key === undefined ? {} : { key }) });
for await (const part of run) {
  at('at ' + part.type + ' ' + (part.call ?? part.turn));
  if (part.type === 'question') {
    await part.answer(true);
    at('answered ' + part.call);
  }
}
const result = await run.result();
at('ended');
await agent.close();
console.log(JSON.stringify(result));
`;

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'program.mjs'), PROGRAM);
});

afterAll(() => rm(FOLDER, { recursive: true }));

async function start(args: readonly string[]): Promise<{ readonly signal: string | null; readonly printed: string }> {
  const child = spawn(process.execPath, [join(FOLDER, 'program.mjs'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
  });
  const [, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { signal, printed };
}

interface Crash {
  readonly at: string;
  /** How the refund of "a" ends, and how often it happened; where it is not given, both depend on how fast the kill is. */
  readonly a?: 'succeeded once' | 'unknown once' | 'unknown never';
  /** How often the model is asked in both processes. */
  readonly turns?: 3 | 4;
  readonly key?: string;
}

/** The first few are the sample. */
const CRASHES: readonly Crash[] = [
  { at: 'before refund a', a: 'unknown never', turns: 3 },
  { at: 'after refund a', a: 'unknown once', turns: 3 },
  { at: 'answered refunda', turns: 3 },
  { at: 'opened', key: 'both', a: 'succeeded once', turns: 3 },
  { at: 'in turn 1', a: 'succeeded once', turns: 4 },
  { at: 'at call finda', a: 'succeeded once' },
  { at: 'in find b', a: 'succeeded once', turns: 3 },
  { at: 'at result findb', a: 'succeeded once' },
  { at: 'in turn 2', a: 'succeeded once', turns: 4 },
  { at: 'at question refunda', a: 'succeeded once', turns: 3 },
  { at: 'at result refunda' },
  { at: 'in turn 3', a: 'succeeded once', turns: 4 },
  { at: 'ended', key: 'both', a: 'succeeded once', turns: 3 },
];

test.each(CRASHES.slice(0, roundsOf(2, CRASHES.length)))(
  'killed $at, it goes on: every refund once, or told as unknown',
  async ({ at, key, a, turns }) => {
    const directory = await mkdtemp(join(tmpdir(), 'refold-agent-crash-'));
    const keys = key === undefined ? [] : [key];
    expect((await start([directory, at, ...keys])).signal).toBe('SIGKILL');
    const { printed } = await start([directory, 'nowhere', ...keys]);
    const result = JSON.parse(printed) as RunResult;
    expect(result).toMatchObject({ status: 'completed', text: 'Done.', run: 'run-1' });
    const world = (await readFile(join(directory, 'world'), 'utf8')).trimEnd().split('\n');
    const [finds, refunds] = [result.calls.slice(0, 2), result.calls.slice(2)];
    expect(finds.map(({ call, status }) => `${call} ${status}`)).toEqual(['finda succeeded', 'findb succeeded']);
    const ends = refunds.map(({ call, status }) => {
      const times = world.filter((line) => line === `refund ${call.at(-1)}`).length;
      return `${status} ${['never', 'once'][times] ?? `${times} times`}`;
    });
    expect(ends).toHaveLength(2);
    for (const end of ends) expect(['succeeded once', 'unknown once', 'unknown never']).toContain(end);
    if (a !== undefined) expect(ends[0]).toBe(a);
    const asked = world.filter((line) => line.startsWith('turn ')).length;
    expect(turns === undefined ? [3, 4] : [turns]).toContain(asked);
    const verified = await refold(['verify', 'shop', '--laws', '--data-dir', join(directory, 'data')]);
    expect(verified).toMatchObject({ code: 0 });
    await rm(directory, { recursive: true });
  },
);
