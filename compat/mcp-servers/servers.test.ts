// The public MCP servers as real processes under a bridge: their tools are offered, and their calls run, also after all
// processes were killed.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { resultsOf } from 'refold/client';
import { COMPAT } from '../support/consumer.ts';
import { type McpWorld, openMcpWorld } from './world.ts';

const script = (name: string): string => join(COMPAT, 'node_modules/@modelcontextprotocol', name, 'dist/index.js');
const servers = (workspace: string): object => ({
  everything: { command: process.execPath, args: [script('server-everything'), 'stdio'], trust: 'first' },
  files: { command: process.execPath, args: [script('server-filesystem'), workspace], trust: 'first' },
});

let world: McpWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

test('the tools of both servers are offered and called', async () => {
  world = await openMcpWorld(servers);
  const file = join(world.workspace, 'note.txt');
  await world.begin('both', [
    [
      { name: 'mcp__everything__echo', arguments: { message: 'hello' } },
      { name: 'mcp__everything__get-sum', arguments: { a: 2, b: 3 } },
      { name: 'mcp__everything__get-structured-content', arguments: { location: 'New York' } },
      { name: 'mcp__everything__get-tiny-image', arguments: {} },
      { name: 'mcp__files__write_file', arguments: { path: file, content: 'written' } },
    ],
    [{ name: 'mcp__files__read_text_file', arguments: { path: file } }],
  ]);
  await world.idle('both');
  const offered = world.model.offered();
  expect(offered.filter((name) => name.startsWith('mcp__everything__')).length).toBe(13);
  expect(offered.filter((name) => name.startsWith('mcp__files__')).length).toBe(14);
  const results = await resultsOf(world.client, 'both' as never, 'run-1' as never);
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 'succeeded'));
  const outputs = results.map(({ output }) => (output !== null && 'text' in output ? output.text : ''));
  expect(outputs[0]).toContain('hello');
  expect(outputs[1]).toContain('5');
  expect(outputs[5]).toContain('written');
  expect(results[3]?.attachments).toHaveLength(1);
  expect(await readFile(file, 'utf8')).toBe('written');
});

test('after engine, bridge and servers were killed, a session goes on with its tools', async () => {
  world = await openMcpWorld(servers);
  const echo = (message: string) => [{ name: 'mcp__everything__echo', arguments: { message } }];
  await world.begin('on', [echo('one'), echo('two')]);
  await world.killed(['bridge', 'engine']);
  await world.idle('on');
  const results = await resultsOf(world.client, 'on' as never, 'run-1' as never);
  // What was running when its bridge was killed may have been done, or not: it is told so, and never done twice.
  expect(results.filter(({ status }) => status !== 'succeeded' && status !== 'unknown')).toEqual([]);
  expect(results).toHaveLength(2);
  expect(world.model.unpaired()).toBe(0);
});
