// Local MCP servers as real processes: what they list, what calls of their tools answer, how they are confined.
import { describe, expect, test } from 'vitest';
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
