// Local MCP servers as real processes: what they list, what calls of their tools answer, how they are confined.
import { describe, expect, test } from 'vitest';
import type { CallQuestion } from '../../../schemas/elicitation.ts';
import { mcpServerName } from '../../../src/toolsets/mcp-names.ts';
import { open, raw } from '../../support/mcp/opened.ts';

describe('a local server', () => {
  test('is started, and its tools are offered and called', async () => {
    await using opened = await open({ files: raw('plain') });
    expect(opened.toolsOf('files')).toEqual(['mcp.files.echo']);
    expect(opened.mcp.executor.tools).toEqual(['mcp.files.*']);
    expect(opened.mcp.toolsets.toolsets()).toMatchObject([
      { toolset: 'mcp.files', trust: null, tools: [{ spec: { tool_name: 'mcp__files__echo', mode: 'external' } }] },
    ]);
    expect(await opened.call('mcp.files.echo', { text: 'hi' })).toEqual({ success: true, text: 'echo {"text":"hi"}' });
    expect(await opened.logged('mcp_server_ready')).toMatchObject({
      tools: 1,
      protocol: '2025-06-18',
      sandbox: 'bwrap',
    });
  });
});

describe('its confinement', () => {
  test('its environment holds what the configuration gives, and nothing of the bridge', async () => {
    process.env['REFOLD_TEST_OF_SERVERS'] = 'of the bridge';
    await using opened = await open({ s: raw('variables', '', { env: { GIVEN: 'yes' } }) });
    delete process.env['REFOLD_TEST_OF_SERVERS'];
    await opened.logged('mcp_server_ready');
    const variables = JSON.parse((await opened.call('mcp.s.echo')).text) as Record<string, string>;
    expect(variables).toMatchObject({ GIVEN: 'yes', HOME: '/tmp' });
    expect(variables).not.toHaveProperty('REFOLD_TEST_OF_SERVERS');
  });

  test('a secret by reference reaches it, and is not shown', async () => {
    const secret = 'the-secret-of-this-test';
    await using opened = await open({ s: raw('secret', '', { env: { API_TOKEN: '${env:MINE}' } }) }, { MINE: secret });
    await opened.logged('mcp_server_ready');
    expect((await opened.call('mcp.s.echo')).text).toBe('the token is ‹secret›');
    expect(JSON.stringify(opened.log)).not.toContain(secret);
  });

  test('a file with a secret of it is not kept', async () => {
    const secret = 'the-secret-of-this-test';
    const server = raw('secret_file', '', { env: { API_TOKEN: '${env:MINE}' } });
    await using opened = await open({ s: server }, { MINE: secret });
    await opened.logged('mcp_server_ready');
    expect((await opened.call('mcp.s.echo')).text).toMatch(/it holds a secret, and is not kept\]$/);
    expect(opened.blobs.size).toBe(0);
  });

  test('a question shows no secret of it', async () => {
    const server = raw('secret_question', '', { env: { API_TOKEN: '${env:MINE}' } });
    await using opened = await open({ s: server }, { MINE: 'the-secret-of-this-test' });
    await opened.logged('mcp_server_ready');
    const asked: string[] = [];
    const ask = ({ message }: CallQuestion) => {
      asked.push(message);
      return Promise.resolve({ action: 'decline' } as const);
    };
    await opened.call('mcp.s.echo', {}, { ask });
    expect(asked).toEqual(['Is ‹secret› yours?']);
  });

  test('it sees neither the configuration nor a home, and changes only what it may write', async () => {
    await using opened = await open({ s: raw('files') });
    await opened.logged('mcp_server_ready');
    const read = async (path: string, more = {}) => (await opened.call('mcp.s.echo', { path, ...more })).text;
    expect(await read(opened.configFile)).toBe('refused: ENOENT');
    expect(await read('/etc/shadow')).toMatch(/^refused: /);
    expect(await read('/tmp/own', { write: 'x' })).toBe('written');
    expect(await read('/usr/own', { write: 'x' })).toMatch(/^refused: /);
  });

  test('with "none" it has no sandbox, and the log says so', async () => {
    await using opened = await open({ s: raw('plain', '', { sandbox: 'none' }) });
    expect(await opened.logged('mcp_server_ready')).toMatchObject({ sandbox: 'none' });
  });
});

describe('the configuration', () => {
  test('is followed: one server comes, one goes, one stays as it is', async () => {
    await using opened = await open({ stays: raw('counts'), goes: raw('plain') });
    await opened.until(() => opened.toolsOf('stays').length + opened.toolsOf('goes').length === 2);
    expect((await opened.call('mcp.stays.echo')).text).toBe('call 1');
    opened.configure({ stays: raw('counts'), comes: raw('plain') });
    await opened.until(() => opened.toolsOf('comes').length === 1);
    expect(opened.mcp.toolsets.names().toSorted()).toEqual(['mcp.comes', 'mcp.stays']);
    // The same process still.
    expect((await opened.call('mcp.stays.echo')).text).toBe('call 2');
  });

  test('a file that is broken changes nothing, and the log says where', async () => {
    await using opened = await open({ s: raw('plain'), bad: { url: 'nowhere' } });
    expect(await opened.logged('mcp_config_fault')).toMatchObject({ at: '/mcpServers/bad/url' });
    await opened.logged('mcp_server_ready');
    opened.configure([] as never);
    await opened.until(() => opened.log.filter(({ event }) => event === 'mcp_config_fault').length === 2);
    expect(await opened.call('mcp.s.echo')).toMatchObject({ success: true });
  });
});

test('a server with any name is shown by it, and its tools have ids of it', async () => {
  const title = 'My Server (prod)';
  await using opened = await open({ [title]: raw('plain') });
  await opened.logged('mcp_server_ready', title);
  const id = `mcp.${mcpServerName(title)}.echo`;
  expect(opened.toolsOf(mcpServerName(title))).toContain(id);
  expect(await opened.call(id)).toMatchObject({ success: true });
  expect(await opened.call(`${id}_gone`)).toMatchObject({ text: expect.stringContaining(title) as string });
});
