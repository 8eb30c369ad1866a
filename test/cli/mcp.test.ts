// `refold mcp add`, `remove` and `list`.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCommandLine } from '../../src/cli/program.ts';

let directory = '';
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'refold-mcp-cli-'))));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const fileOf = (): string => join(directory, 'mcp.json');
const written = (): unknown => JSON.parse(readFileSync(fileOf(), 'utf8'));

async function run(...args: readonly string[]): Promise<{ readonly code: number; readonly text: string }> {
  let text = '';
  const stream = { write: (part: string) => ((text += part), true) } as unknown as NodeJS.WritableStream;
  const code = await runCommandLine(['mcp', args[0] ?? '', '--data-dir', directory, ...args.slice(1)], {
    stdout: stream,
    stderr: stream,
  });
  return { code, text };
}

test('a local server is added, listed without its secrets, and removed', async () => {
  expect(
    (await run('add', 'files', '--env', 'API_KEY=a secret of mine', '--trust-first', '--', 'npx', '-y', 'server')).code,
  ).toBe(0);
  expect(written()).toEqual({
    mcpServers: {
      files: { command: 'npx', args: ['-y', 'server'], env: { API_KEY: 'a secret of mine' }, trust: 'first' },
    },
  });
  expect(statSync(fileOf()).mode & 0o777).toBe(0o600);
  const listed = await run('list');
  expect(listed).toEqual({ code: 0, text: 'files  npx  trusted first\n' });
  expect((await run('remove', 'files')).code).toBe(0);
  expect(written()).toEqual({ mcpServers: {} });
});

test('a server over HTTP is added beside what another program wrote', async () => {
  writeFileSync(fileOf(), JSON.stringify({ mcpServers: { other: { command: 'x', alwaysAllow: ['y'] } } }));
  expect(
    (await run('add', 'far', '--url', 'https://example.com/mcp', '--header', 'Authorization: Bearer ${env:TOKEN}'))
      .code,
  ).toBe(0);
  expect(written()).toEqual({
    mcpServers: {
      other: { command: 'x', alwaysAllow: ['y'] },
      far: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer ${env:TOKEN}' } },
    },
  });
});

test.each<readonly [args: readonly string[], why: RegExp]>([
  [['add', ' bad', '--', 'x'], /cannot name a server/],
  [['add', 'a'], /either a command after --, or --url/],
  [['add', 'a', '--url', 'https://x', '--', 'y'], /either a command/],
  [['add', 'a', '--url', 'nowhere'], /mcpServers\/a\/url must be a URL/],
  [['add', 'a', '--env', 'novalue', '--', 'x'], /no name and value/],
  [['remove', 'none'], /no server "none"/],
])('%j is refused, and nothing is written', async (args, why) => {
  const { code, text } = await run(...args);
  expect(code).not.toBe(0);
  expect(text.replaceAll('\n', ' ')).toMatch(why);
  expect(() => readFileSync(fileOf())).toThrow('ENOENT');
});

test('list says where the file is wrong, and fails', async () => {
  writeFileSync(fileOf(), JSON.stringify({ mcpServers: { a: { command: 'x' }, b: {} } }));
  const { code, text } = await run('list');
  expect(code).toBe(1);
  expect(text).toContain('at /mcpServers/b: must have either');
});

test('a server of any name is added, listed with its toolset, and removed', async () => {
  expect((await run('add', 'a/b My Server', '--', 'x')).code).toBe(0);
  const { text } = await run('list');
  expect(text).toContain('a/b My Server');
  expect(text).toMatch(/mcp\.a_b_my_server_[0-9a-f]{12}/);
  expect((await run('add', 'bad/\u0007', '--', 'x')).code).toBe(2);
  expect((await run('remove', 'a/b My Server')).code).toBe(0);
});
