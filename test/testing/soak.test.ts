// Every loop that a soak lengthens has a name in tools/soak.json, and `npm run soak` knows these names.
import { readFile, readdir } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { at, runNode } from '../determinism/run-tool.ts';

interface Soak {
  readonly what: string;
  readonly files: readonly string[];
}

const soaks = JSON.parse(await readFile(at('tools/soak.json'), 'utf8')) as Readonly<Record<string, Soak>>;

/** Files that scale their rounds through a helper. */
const THROUGH_HELPERS = [
  'test/embed/durable/ai-sdk-contract.test.ts',
  'test/embed/durable/langgraph-contract.test.ts',
  'test/embed/durable/openai-agents-contract.test.ts',
  'test/simulation/seeds-1.test.ts',
  'test/simulation/seeds-2.test.ts',
];

test('the table of soaks names every test file that scales its rounds, once', async () => {
  const names = (await readdir(at('test'), { recursive: true })).filter((name) => name.endsWith('.test.ts'));
  const texts = await Promise.all(
    names.map(async (name) => [`test/${name}`, await readFile(at(`test/${name}`), 'utf8')] as const),
  );
  const scaled = texts.filter(([, text]) => /import .*\broundsOf\b/.test(text)).map(([name]) => name);
  const listed = Object.values(soaks).flatMap(({ files }) => files);
  expect(listed.toSorted()).toEqual([...scaled, ...THROUGH_HELPERS].toSorted());
});

test('npm run soak lists every name with what it checks', async () => {
  const { code, stdout } = await runNode([at('tools/soak.mjs')]);
  expect(code).toBe(0);
  for (const [name, { what }] of Object.entries(soaks)) {
    expect(stdout).toContain(` ${name} `);
    expect(stdout).toContain(what);
  }
});

test.each([
  ['an unknown name', ['speed'], 'unknown name "speed"; the names are simulation, '],
  ['rounds that are not a number', ['laws', '--rounds', 'many'], '--rounds must be a number above 0; it is many'],
  ['an unknown option', ['laws', '--fast'], 'fast'],
])('npm run soak refuses %s', async (_, args, message) => {
  const { code, stderr } = await runNode([at('tools/soak.mjs'), ...args]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).toContain('usage: npm run soak');
});
