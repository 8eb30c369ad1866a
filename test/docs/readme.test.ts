// What the README says is true: its diagrams come from the tables, its examples run.
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { CALL_TRANSITIONS, RUN_TRANSITIONS } from '../../src/core/index.ts';
import { PACKAGE_VERSION } from '../../src/version.ts';
import { stateDiagram } from '../support/diagram.ts';

const readText = (path: string): Promise<string> => readFile(new URL(`../../${path}`, import.meta.url), 'utf8');

const diagramIn = (readme: string, name: string): string | undefined =>
  new RegExp(`<!-- diagram: ${name} -->\\n([\\s\\S]*?)\\n?<!-- /diagram -->`).exec(readme)?.[1];

test.each([
  ['run', RUN_TRANSITIONS],
  ['call', CALL_TRANSITIONS],
])('the diagram of the %s life cycle is drawn from its table', async (name, table) => {
  expect(diagramIn(await readText('README.md'), name)).toBe(stateDiagram(table));
});

test('the version in the code is that of the manifest', async () => {
  const manifest = JSON.parse(await readText('package.json')) as { readonly version: string };
  expect(PACKAGE_VERSION).toBe(manifest.version);
});

test('every command the README names is one', async () => {
  const readme = await readText('README.md');
  const named = [...readme.matchAll(/npx refold ([a-z]+)/g)].map(([, name]) => name);
  const files = ['commands', 'audit-commands', 'people-commands'].map((name) => readText(`src/cli/${name}.ts`));
  const commands = (await Promise.all(files)).join('\n');
  for (const name of new Set(named)) expect(commands).toMatch(new RegExp(`'${name}[ ']`));
  expect(new Set(named).size).toBeGreaterThan(8);
});
