// The mcpServers file: what it says, and where it is wrong.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { parseConfig } from '../../src/toolsets/mcp-config.ts';

const parse = (servers: unknown) => {
  const parsed = parseConfig(JSON.stringify({ mcpServers: servers }));
  if (isLeft(parsed)) throw new Error(parsed.left.message);
  return parsed.right;
};

test('the common fields, and those of refold', () => {
  const config = parse({
    local: {
      command: 'npx',
      args: ['-y', 'server'],
      env: { A: '${env:A}' },
      cwd: '/srv',
      trust: 'first',
      timeout_ms: 5_000,
    },
    far: {
      type: 'http',
      url: 'https://example.com/mcp',
      headers: { Authorization: 'Bearer ${env:TOKEN}' },
      alwaysAllow: ['x'],
    },
    off: { command: 'x', disabled: true },
  });
  expect(config).toMatchObject({
    servers: [
      {
        name: 'far',
        title: 'far',
        trust: null,
        trustHints: false,
        timeoutMs: null,
        transport: { kind: 'http', url: 'https://example.com/mcp' },
      },
      {
        name: 'local',
        title: 'local',
        trust: 'first',
        timeoutMs: 5_000,
        transport: { kind: 'stdio', args: ['-y', 'server'], cwd: '/srv' },
      },
    ],
    disabled: ['off'],
    faults: [],
  });
});

describe('a server with a fault is left out, and the others stay', () => {
  test.each<readonly [server: unknown, path: string, message: RegExp]>([
    [{}, '/mcpServers/bad', /either "command".* or "url"/],
    [{ command: 'x', url: 'https://x' }, '/mcpServers/bad', /either/],
    ['text', '/mcpServers/bad', /must be an object/],
    [{ command: '' }, '/mcpServers/bad/command', /program/],
    [{ command: 'x', args: 'y' }, '/mcpServers/bad/args', /list of texts/],
    [{ command: 'x', args: [7] }, '/mcpServers/bad/args', /list of texts/],
    [{ command: 'x', env: { 'A B': 'c' } }, '/mcpServers/bad/env', /invalid name/],
    [{ command: 'x', env: { A: 7 } }, '/mcpServers/bad/env/A', /text of one line/],
    [{ command: 'x', cwd: 'relative' }, '/mcpServers/bad/cwd', /absolute path/],
    [{ command: 'x', type: 'http' }, '/mcpServers/bad/type', /"stdio"/],
    [{ command: 'x', sandbox: 'off' }, '/mcpServers/bad/sandbox', /"none", or an object/],
    [{ command: 'x', sandbox: { nets: true } }, '/mcpServers/bad/sandbox', /unknown field "nets"/],
    [{ command: 'x', sandbox: { read: ['here'] } }, '/mcpServers/bad/sandbox/read', /absolute paths/],
    [{ url: 'nowhere' }, '/mcpServers/bad/url', /must be a URL/],
    [{ url: 'file:///etc/passwd' }, '/mcpServers/bad/url', /https/],
    [{ url: 'https://a:b@example.com' }, '/mcpServers/bad/url', /password/],
    [{ url: 'https://x', type: 'sse' }, '/mcpServers/bad/type', /retired/],
    [{ url: 'https://x', headers: { 'A\r\nB': 'c' } }, '/mcpServers/bad/headers', /invalid name/],
    [{ url: 'https://x', headers: { A: 'b\r\nC: d' } }, '/mcpServers/bad/headers/A', /one line/],
    [{ url: 'https://x', oauth: 'yes' }, '/mcpServers/bad/oauth', /object/],
    [{ url: 'https://x', oauth: { clientId: 'a' } }, '/mcpServers/bad/oauth', /unknown field.*client_id/],
    [{ url: 'https://x', oauth: { client_id: '' } }, '/mcpServers/bad/oauth/client_id', /text/],
    [{ url: 'https://x', oauth: { client_secret: 'a' } }, '/mcpServers/bad/oauth/client_id', /needed/],
    [{ url: 'https://x', oauth: { refresh_token: 'a' } }, '/mcpServers/bad/oauth/client_id', /needed/],
    [{ url: 'https://x', oauth: { client_id: 'a', id_token: 'b' } }, '/mcpServers/bad/oauth/id_token', /idp_token_url/],
    [
      { url: 'https://x', oauth: { client_id: 'a', assertion: 'b', refresh_token: 'c' } },
      '/mcpServers/bad/oauth/assertion',
      /together with refresh_token/,
    ],
    [{ url: 'https://x', oauth: { issuer: 'file:///etc' } }, '/mcpServers/bad/oauth/issuer', /https/],
    [{ url: 'https://x', oauth: { redirect_port: 80 } }, '/mcpServers/bad/oauth/redirect_port', /1024/],
    [{ url: 'https://x', oauth: { dpop: 'yes' } }, '/mcpServers/bad/oauth/dpop', /true or false/],
    [{ command: 'x', trust: 'always' }, '/mcpServers/bad/trust', /"first"/],
    [{ command: 'x', trust_hints: 'yes' }, '/mcpServers/bad/trust_hints', /true or false/],
    [{ command: 'x', timeout_ms: 0 }, '/mcpServers/bad/timeout_ms', /whole number/],
    [{ command: 'x', disabled: 'no' }, '/mcpServers/bad/disabled', /true or false/],
  ])('%j at %s', (server, path, message) => {
    const config = parse({ bad: server, good: { command: 'x' } });
    expect(config.faults).toEqual([{ path, message: expect.stringMatching(message) as string }]);
    expect(config.servers.map(({ name }) => name)).toEqual(['good']);
  });

  test.each(['a\u001b[1m', 'a\nb', ' a', 'a  b', 'a\u200bb', 'a\u202eb', '\u3164', 'x'.repeat(65), ''])(
    'the name %j',
    (name) => {
      expect(parse({ [name]: { command: 'x' } }).faults).toMatchObject([
        { message: expect.stringContaining('cannot name') as string },
      ]);
    },
  );
});

test('a server may be called what people call it', () => {
  const titles = ['GitHub', 'My Server (prod)', 'io.github.user/name', 'Übersetzer', '検索', 'a_b-c'];
  const { servers, faults } = parse(Object.fromEntries(titles.map((title) => [title, { command: 'x' }])));
  expect(faults).toEqual([]);
  expect(servers.map(({ title }) => title).toSorted()).toEqual(titles.toSorted());
});

test.each<readonly [text: string, path: string]>([
  ['{', ''],
  ['[]', ''],
  ['{}', '/mcpServers'],
  ['{"mcpServers":[]}', '/mcpServers'],
  ['{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}', '/mcpServers/a'],
])('%j is no configuration, at %j', (text, path) => {
  expect(parseConfig(text)).toMatchObject({ left: { path } });
});
