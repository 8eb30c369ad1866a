// The agent of the README runs unchanged, with a model server on this machine: it asks, and its answer decides.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readExample } from '../support/documents.ts';
import { ROOT } from '../support/e2e/refold.ts';
import { type ModelServer, openModelServer } from '../support/providers/model-server.ts';

// Inside the package, so that `refold/agent` is the package itself.
const FOLDER = join(ROOT, 'dist/readme-agent');
let server: ModelServer;

beforeAll(async () => {
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'agent.mjs'), await readExample('agent'));
  server = await openModelServer();
});

afterAll(async () => {
  await server.close();
  await rm(FOLDER, { recursive: true });
});

const message = (stop: string, ...content: readonly object[]) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content,
    stop_reason: stop,
    usage: { input_tokens: 10, output_tokens: 5 },
  }),
});
const use = (name: string, input: object) => ({ type: 'tool_use', id: `toolu_${name}`, name, input });

/** Runs it with this typed at its question; returns what it printed. */
async function runAgent(typed: string): Promise<string> {
  server.answer(
    message('tool_use', { type: 'text', text: 'Let me look.' }, use('find_order', { order: '42' })),
    message('tool_use', use('refund_order', { order: '42', cents: 4_200 })),
    message('end_turn', { type: 'text', text: 'That is all.' }),
  );
  return await start('agent.mjs', typed, {
    ...process.env,
    NO_COLOR: '1',
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: 'key-of-this-test-only',
  });
}

/** Runs a program in a directory of its own. */
async function start(name: string, typed: string, env: NodeJS.ProcessEnv): Promise<string> {
  const cwd = await mkdtemp(join(tmpdir(), 'refold-readme-'));
  const child = spawn(process.execPath, [join(FOLDER, name)], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    if (text.includes('(y/n)')) child.stdin.write(`${typed}\n`);
  });
  const [code] = (await once(child, 'close')) as [number];
  await rm(cwd, { recursive: true });
  expect(code).toBe(0);
  return printed;
}

test('the example of an agent has at most 28 lines', async () => {
  const lines = (await readExample('agent')).split('\n').filter((line) => line.trim() !== '');
  expect(lines.length).toBeLessThanOrEqual(28);
});

test('the example of an agent asks, and refunds when it is allowed', async () => {
  const printed = await runAgent('y');
  expect(printed).toContain('Let me look.');
  expect(printed).toContain('refund_order {"cents":4200,"order":"42"}? (y/n)');
  expect(printed).toContain("text: 'refunded 4200 cents of order 42'");
  expect(printed).toContain("status: 'completed'");
  expect(server.asked[0]?.headers['x-api-key']).toBe('key-of-this-test-only');
  expect(JSON.parse(server.asked[0]?.body ?? '')).toMatchObject({ model: 'claude-sonnet-4-5' });
});

test('the example of an agent refunds nothing when it is denied', async () => {
  const printed = await runAgent('n');
  expect(printed).toContain("status: 'denied'");
  expect(printed).not.toContain('refunded');
});

test('the example of an agent runs without a key when a script stands for the model', async () => {
  const [script = '', ...rest] = (await readExample('scripted model')).split('\n\n');
  const agent = (await readExample('agent')).replace("model: 'anthropic:claude-sonnet-4-5'", 'model');
  expect(agent).toContain("dataDir: './data', model, tools");
  await writeFile(join(FOLDER, 'scripted.mjs'), [script, rest.join('\n\n'), agent].join('\n'));
  const printed = await start('scripted.mjs', 'y', { ...process.env, NO_COLOR: '1', ANTHROPIC_API_KEY: '' });
  expect(printed).toContain('refund_order {"cents":4200,"order":"42"}? (y/n)');
  expect(printed).toContain("text: 'refunded 4200 cents of order 42'");
  expect(printed).toContain("text: 'Done.'");
});
