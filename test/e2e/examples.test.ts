// Each program under examples/ runs as its README says.
import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { recordedTools } from '../../bridge/index.ts';
import { ROOT } from '../support/e2e/refold.ts';

interface Ended {
  readonly code: number;
  readonly printed: string;
}

const node = (...args: readonly string[]): Promise<Ended> => nodeIn(process.env, ...args);

const nodeIn = (env: NodeJS.ProcessEnv, ...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: ROOT, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), printed: `${stdout}${stderr}` });
    });
  });

test('the README names every example and its command', async () => {
  const text = await readFile(join(ROOT, 'examples/README.md'), 'utf8');
  const folders = (await readdir(join(ROOT, 'examples'), { withFileTypes: true })).filter((entry) =>
    entry.isDirectory(),
  );
  const rows = [...text.matchAll(/^\| \[`([a-z-]+)\/`\]\(\1\/README\.md\).*`node examples\/\1\/[a-z]+\.mjs` \|$/gm)];
  expect(new Set(rows.map(([, name]) => name))).toEqual(new Set(folders.map(({ name }) => name)));
  expect(rows).toHaveLength(folders.length);
});

describe('ci-gate', () => {
  // Inside the package, so that `refold` is the package itself.
  const folder = join(ROOT, 'dist/example-ci-gate');
  beforeAll(() => cp(join(ROOT, 'examples/ci-gate'), folder, { recursive: true }));
  afterAll(() => rm(folder, { recursive: true }));
  const change = async (name: string, changes: readonly (readonly [from: string, to: string])[]): Promise<void> => {
    let text = await readFile(join(ROOT, 'examples/ci-gate', name), 'utf8');
    for (const [from, to] of changes) {
      expect(text).toContain(from);
      text = text.replace(from, to);
    }
    await writeFile(join(folder, name), text);
  };

  test('passes for the recorded session', async () => {
    expect(await node('examples/ci-gate/gate.mjs')).toEqual({ code: 0, printed: 'sessions: 1, nothing changed\n' });
  });

  test('fails when an approval falls away or a tool changes its name, and says which call differs', async () => {
    await change('agent.mjs', [
      ['CONSENT_PRESETS.default', 'CONSENT_PRESETS.allow_all'],
      ["tool_name: 'look_up_order'", "tool_name: 'find_order'"],
    ]);
    const { code, printed } = await node(join(folder, 'gate.mjs'));
    expect(code).toBe(1);
    expect(printed).toContain('1 approval');
    expect(printed).toContain('is  turn 1 look_up_order {"order":"42"}: rejected tool_unknown');
  });

  test('records a session that replays', async () => {
    await change('agent.mjs', []);
    const file = join(folder, 'sessions/again.jsonl');
    expect(await node(join(folder, 'record.mjs'), file)).toMatchObject({ code: 0 });
    expect((await recordedTools(file)).tools).toEqual(['shop.order.look_up', 'shop.order.refund']);
  });
});

test('property-test: the properties hold, and find tools that claim too little', async () => {
  const program = 'examples/property-test/main.mjs';
  const [sound, careless] = await Promise.all([node(program), node(program, '--careless')]);
  expect(sound).toEqual({ code: 0, printed: 'neverNegative holds\ngroupsCommute holds\n' });
  expect(careless.code).toBe(1);
  expect(careless.printed).toMatch(/^neverNegative holds\ngroupsCommute fails, seed/);
});

test('bridge-over-http: a bridge in Python runs a session to its end', async () => {
  const { code, printed } = await node('examples/bridge-over-http/main.mjs');
  expect(printed).toContain('count_letters {"word":"event"}: succeeded, event has 5 letters.');
  expect(printed).toContain('completed: event has 5 letters. fold has 4 letters.');
  expect(code).toBe(0);
});

test('bridge-over-http: without Python it fails and says what to install', async () => {
  const { code, printed } = await nodeIn({ ...process.env, PATH: '' }, 'examples/bridge-over-http/main.mjs');
  expect(printed).toContain('python3 cannot be started');
  expect(printed).toContain('install Python 3.9 or newer');
  expect(code).toBe(1);
});

describe('ai-sdk-refund', () => {
  const folder = join(ROOT, 'dist/example-ai-sdk-refund');
  const modules = join(folder, 'node_modules');

  // The real SDK runs it in compat/. Here it is a stand-in with the same loop, so that nothing is installed.
  beforeAll(async () => {
    const isOwn = (path: string): boolean => !path.includes('node_modules');
    await cp(join(ROOT, 'examples/ai-sdk-refund'), folder, { recursive: true, filter: isOwn });
    await mkdir(modules);
    await symlink(ROOT, join(modules, 'refold'));
    await writeStandIn('ai', AI);
    await writeStandIn('zod', "export const z = { object: () => ({ type: 'object' }), string: () => ({}) };");
  });
  afterAll(() => rm(folder, { recursive: true }));

  const AI = `
    import { generate } from './ai-sdk-loop.ts';
    export const tool = (given) => given;
    export const stepCountIs = (steps) => steps;
    export const generateText = ({ stopWhen, ...options }) => generate({ ...options, stepsMax: stopWhen });`;

  async function writeStandIn(name: string, contents: string): Promise<void> {
    const stdin = { contents, resolveDir: join(ROOT, 'test/support/loops') };
    await build({ stdin, bundle: true, format: 'esm', platform: 'node', outfile: join(modules, name, 'index.js') });
    await writeFile(join(modules, name, 'package.json'), '{ "type": "module", "exports": "./index.js" }');
  }

  test('killed in a refund and started again: each refund once, and no turn is asked again', async () => {
    const { code, printed } = await node(join(folder, 'main.mjs'));
    expect(printed).toContain('first start: killed by SIGKILL');
    expect(printed).toMatch(/refund_order-41: .*outcome_unknown.*\nrefund_order-42: order 42 is refunded\n/);
    expect(printed).toContain('refunds that happened: 41, 42\nthe model was asked: turn 1, turn 2, turn 3\n');
    expect(code).toBe(0);
  });
});
