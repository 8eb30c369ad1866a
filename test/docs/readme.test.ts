// What the README and the pages of docs/ say about the code is true: diagrams, commands, versions.
import { describe, expect, test } from 'vitest';
import { CALL_TRANSITIONS, RUN_TRANSITIONS } from '../../src/core/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { PACKAGE_VERSION } from '../../src/version.ts';
import { stateDiagram } from '../support/diagram.ts';
import { readDocument, readDocuments } from '../support/documents.ts';

describe('the README', () => {
  test('has at most 200 lines', async () => {
    expect((await readDocument('README.md')).trimEnd().split('\n').length).toBeLessThanOrEqual(200);
  });

  test('says what it is, for whom, and how to try it on a first screen of 40 lines and 120 columns', async () => {
    const screen = (await readDocument('README.md')).split('\n').slice(0, 40);
    expect(screen.filter((line) => line.length > 120)).toEqual([]);
    for (const part of ['engine', 'It is for people who', 'npm ci && npm start']) {
      expect(screen.join('\n')).toContain(part);
    }
  });
});

test.each([
  ['run', RUN_TRANSITIONS],
  ['call', CALL_TRANSITIONS],
])('the diagram of the %s life cycle is drawn from its table', async (name, table) => {
  const text = await readDocument('docs/life-cycles.md');
  const drawn = new RegExp(`<!-- diagram: ${name} -->\\n([\\s\\S]*?)\\n?<!-- /diagram -->`).exec(text)?.[1];
  expect(drawn).toBe(stateDiagram(table));
});

test('the version in the code is the version of the manifest', async () => {
  const manifest = JSON.parse(await readDocument('package.json')) as { readonly version: string };
  expect(PACKAGE_VERSION).toBe(manifest.version);
});

test('every command that a document names exists', async () => {
  const texts = [...(await readDocuments()).values(), await readDocument('CHANGELOG.md')].join('\n');
  const named = new Set([...texts.matchAll(/npx refold ([a-z]+)/g)].map(([, name]) => name));
  const files = [
    'commands',
    'transfer-commands',
    'bench-command',
    'audit-commands',
    'people-commands',
    'token-command',
  ].map((name) => readDocument(`src/cli/${name}.ts`));
  const commands = (await Promise.all(files)).join('\n');
  const made = (name: string): boolean => new RegExp(`'${name}[ ']`).test(commands);
  expect([...named].filter((name) => name === undefined || !made(name))).toEqual([]);
  expect(named.size).toBeGreaterThan(15);
});

test('the table of consent presets is that of the code', async () => {
  const text = await readDocument('docs/consent.md');
  const rows = Object.entries(CONSENT_PRESETS).map(([name, { modes }]) => {
    const { read, safe_write, destructive, local, external } = modes;
    return `| \`${name}\` | ${[read, safe_write, destructive, local, external].join(' | ')} |`;
  });
  const written = text.split('\n').filter((line) => /^\| `[a-z_]+` \| (allow|ask|deny) /.test(line));
  expect(written).toEqual(rows);
});

test('.editorconfig and .nvmrc agree with the formatter and the manifest', async () => {
  const editor = await readDocument('.editorconfig');
  const format = JSON.parse(await readDocument('.oxfmtrc.json')) as { readonly printWidth: number };
  const { engines } = JSON.parse(await readDocument('package.json')) as { readonly engines: { readonly node: string } };
  expect(editor).toContain(`max_line_length = ${format.printWidth}\n`);
  expect(engines.node).toBe(`>=${(await readDocument('.nvmrc')).trim()}`);
});
