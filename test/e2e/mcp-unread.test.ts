// A host that reads nothing and shuts its server down as MCP says (stdio, "Shutdown"): `refold mcp serve` ends, though its output is
// full.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { CLI, freshDirectory } from '../support/e2e/refold.ts';

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'deaf', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const LIST = { jsonrpc: '2.0', method: 'tools/list', params: { _meta: META } };
/** Their answers are far more than a pipe holds. */
const REQUESTS = 250;
const SLOW_MS = 60_000;

test(
  'a host that never reads ends the process with SIGTERM',
  async () => {
    const places = ['--data-dir', join(await freshDirectory(), 'data'), '--workspace', await freshDirectory(true)];
    const args = [CLI, 'mcp', 'serve', ...places, '--sandbox', 'none'];
    const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    try {
      const exited = once(child, 'exit');
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
      const lines = Array.from({ length: REQUESTS }, (_, id) => `${JSON.stringify({ ...LIST, id })}\n`);
      child.stdin.write(lines.join(''));
      await vi.waitUntil(() => said.includes('session '), { timeout: SLOW_MS });
      // The first answers are there, and nothing takes them.
      await once(child.stdout, 'readable');
      child.stdin.end();
      child.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill('SIGKILL');
    }
  },
  SLOW_MS,
);
