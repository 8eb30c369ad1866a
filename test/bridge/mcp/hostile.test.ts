// Hostile and broken MCP servers, each as a real process: every case ends in a typed failure, or in a tool that is left out, in
// time, and the bridge goes on. Most of the time is that of processes that start, so the cases run at once but for those that measure.
import { describe, expect, test } from 'vitest';
import { brand } from '../../../schemas/ids.ts';
import type { JsonObject } from '../../../schemas/json.ts';
import { mcpTool } from '../../../src/toolsets/mcp-tools.ts';
import { type Opened, open, raw } from '../../support/mcp/opened.ts';

const schema = { type: 'object' };
const said = (name: string, more: JsonObject = {}): JsonObject => ({ name, inputSchema: schema, ...more });
const tools = (...all: readonly JsonObject[]): JsonObject => raw('tools', JSON.stringify(all));

const leftOut = (opened: Opened): readonly string[] =>
  opened.log.flatMap((line) => (line.event === 'mcp_tool_left_out' ? [line.why] : []));

describe('a tool that is left out, with the reason', () => {
  const good = said('good');
  const ref = (to: string): JsonObject =>
    said('bad', { inputSchema: { type: 'object', properties: { a: { $ref: to } } } });
  test.concurrent.each<readonly [what: string, bad: JsonObject, why: RegExp]>([
    ['no name', { inputSchema: schema }, /no name/],
    ['an empty name', said(''), /no name/],
    ['a name that is no text', { name: 7, inputSchema: schema }, /no name/],
    ['an endless name', said('n'.repeat(300)), /longer than 256/],
    ['no schema', { name: 'bad' }, /inputSchema is not an object/],
    ['a schema that is null', said('bad', { inputSchema: null }), /inputSchema is not an object/],
    ['a schema that is a list', said('bad', { inputSchema: [] }), /inputSchema is not an object/],
    ['a schema of no object', said('bad', { inputSchema: { type: 'string' } }), /not of the type object/],
    ['a schema without a type', said('bad', { inputSchema: {} }), /not of the type object/],
    ['a remote $ref', ref('https://example.com/schema.json'), /\$ref to "https:\/\/example.com/],
    ['a $ref to a file', ref('file:///etc/passwd'), /\$ref to "file:/],
    ['a relative $ref', ref('other.json'), /\$ref to "other.json"/],
    ['a $ref to nothing', ref('#/$defs/none'), /does not compile/],
    [
      'a remote $dynamicRef',
      said('bad', { inputSchema: { type: 'object', not: { $dynamicRef: 'x:y' } } }),
      /\$dynamicRef/,
    ],
    [
      'an unknown dialect',
      said('bad', { inputSchema: { $schema: 'https://example.com/s', type: 'object' } }),
      /\$schema/,
    ],
    ['a dialect that is no text', said('bad', { inputSchema: { $schema: 7, type: 'object' } }), /\$schema/],
    ['an asynchronous schema', said('bad', { inputSchema: { $async: true, type: 'object' } }), /asynchronous/],
    [
      'a pattern that is none',
      said('bad', { inputSchema: { type: 'object', properties: { a: { pattern: '(' } } } }),
      /compile/,
    ],
    [
      'an unknown type',
      said('bad', { inputSchema: { type: 'object', properties: { a: { type: 'thing' } } } }),
      /compile/,
    ],
    ['an output schema that is text', said('bad', { outputSchema: 'x' }), /outputSchema is not an object/],
    [
      'an output schema with a remote $ref',
      said('bad', { outputSchema: { $ref: 'http://x/y' } }),
      /outputSchema has a \$ref/,
    ],
    ['an output schema that does not compile', said('bad', { outputSchema: { pattern: '[' } }), /compile/],
    ['a second tool of its name', said('good', { description: 'another' }), /has its name/],
  ])('%s', async (_what, bad, why) => {
    await using opened = await open({ s: tools(good, bad) });
    await opened.logged('mcp_server_ready');
    expect(leftOut(opened)).toEqual([expect.stringMatching(why)]);
    expect(opened.toolsOf('s')).toEqual(['mcp.s.good']);
  });

  test.concurrent.each<readonly [what: string, bad: unknown]>([
    ['text', 'bad'],
    ['null', null],
    ['a list', []],
  ])('%s in place of a tool', async (_what, bad) => {
    await using opened = await open({ s: raw('tools', JSON.stringify([good, bad])) });
    await opened.logged('mcp_server_ready');
    expect(opened.toolsOf('s')).toEqual(['mcp.s.good']);
    expect(leftOut(opened)).toEqual(['it has no name']);
  });

  test.concurrent.each<readonly [trick: string, why: RegExp]>([
    ['deep_schema', /deeper than 48/],
    ['wide_schema', /more than 4096 values/],
    ['long_schema', /longer than 65536 characters/],
    ['long_definition', /definition is longer/],
  ])('%s', async (trick, why) => {
    await using opened = await open({ s: raw(trick) });
    await opened.logged('mcp_server_ready');
    expect(leftOut(opened)).toEqual([expect.stringMatching(why)]);
    expect(opened.toolsOf('s')).toEqual(['mcp.s.good']);
  });

  test.concurrent('the key __proto__ in a definition', () => {
    const bad: unknown = JSON.parse('{"name":"bad","inputSchema":{"type":"object"},"__proto__":{"polluted":true}}');
    expect(mcpTool({ server: 's' }, bad)).toMatchObject({
      left: { reason: expect.stringContaining('__proto__') as string },
    });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.concurrent('10,000 tools: as many as a toolset holds stay', async () => {
    await using opened = await open({ s: raw('many', '10000') });
    await opened.logged('mcp_server_ready');
    expect(opened.toolsOf('s')).toHaveLength(512);
    expect(leftOut(opened)).toHaveLength(9);
    expect(leftOut(opened).at(-1)).toBe('and 3577 more');
  });

  test.concurrent('tools that take more than a report holds', async () => {
    await using opened = await open({ s: raw('big_tools') });
    await opened.logged('mcp_server_ready');
    expect(opened.toolsOf('s').length).toBeGreaterThan(0);
    const specs = opened.mcp.toolsets.toolsets()[0]?.tools.map(({ spec }) => spec) ?? [];
    expect(JSON.stringify(specs).length).toBeLessThan(1_000_000);
  });
});

describe('a name that would mislead', () => {
  test.concurrent.each<readonly [what: string, name: string]>([
    ['ANSI colours', '\u001b[31mred\u001b[0m'],
    ['a mark of direction', 'a\u202Eb'],
    ['a character of no width', 'a\u200Bb'],
    ['tag characters', 'a\u{E0041}\u{E0042}b'],
    ['letters of another script', 'dеlete'],
    ['a line end', 'a\nb'],
    ['a blank', 'a b'],
    ['__proto__', '__proto__'],
    ['constructor', 'constructor'],
    ['that of another server', 'x__mcp__other__t'],
    ['the form of an altered name', 'a_0123456789ab'],
  ])('%s: the tool has a name of plain characters, and is called by its own', async (_what, name) => {
    await using opened = await open({ s: tools(said(name)) });
    await opened.logged('mcp_server_ready');
    const [tool] = opened.mcp.toolsets.toolsets()[0]?.tools ?? [];
    expect(tool?.spec.tool_name).toMatch(/^mcp__s__[A-Za-z0-9_-]+$/);
    const report = await opened.call(tool?.spec.tool_id ?? '');
    expect(report).toEqual({ success: true, text: `${name} {}` });
  });

  test.concurrent('hints never make a tool read-only or parallel', async () => {
    const annotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };
    await using opened = await open({ s: tools(said('lies', { annotations })) });
    await opened.logged('mcp_server_ready');
    expect(opened.mcp.toolsets.toolsets()[0]?.tools[0]?.spec).toMatchObject({
      read_only: false,
      destructive: true,
      idempotent: false,
      open_world: true,
      mode: 'external',
      parallelism_hint: { parallel_safe: false },
    });
  });

  test.concurrent('a description has no character that people would not see', async () => {
    const description = 'adds\u001b[8m two\u202E numbers\u{E0073}\u{E0065}\u200B';
    await using opened = await open({ s: tools(said('add', { description })) });
    await opened.logged('mcp_server_ready');
    const [tool] = opened.mcp.toolsets.toolsets()[0]?.tools ?? [];
    expect(tool?.spec.description).toBe('adds[8m two numbers');
    // What is approved is what the server said.
    expect(JSON.parse(tool?.definition ?? '')).toMatchObject({ description });
  });
});

describe('a listing that cannot be finished', () => {
  test.concurrent.each<readonly [trick: string, why: RegExp]>([
    ['endless_cursors', /more than 64 pages/],
    ['same_cursor', /repeats a cursor/],
    ['empty_cursor', /repeats a cursor/],
    ['number_cursor', /cursor is no text/],
    ['long_cursor', /cursor is no text, or too long/],
    ['tools_no_list', /no list/],
    ['tools_missing', /no list/],
    ['list_refused', /no tools today/],
    ['huge_page', /more than 8388608 bytes/],
  ])('%s: the server is unavailable, another one is not', async (trick, why) => {
    await using opened = await open({ bad: raw(trick), good: raw('plain') });
    expect(await opened.logged('mcp_server_unavailable', 'bad')).toMatchObject({
      why: expect.stringMatching(why) as string,
    });
    expect(opened.toolsOf('bad')).toEqual([]);
    await opened.logged('mcp_server_ready', 'good');
    expect(await opened.call('mcp.good.echo')).toMatchObject({ success: true });
    expect(await opened.call('mcp.bad.echo')).toMatchObject({ success: false, code: 'server_unavailable' });
  });

  test.concurrent('an empty cursor is a page like any other', async () => {
    await using opened = await open({ s: raw('pages', '3') });
    await opened.logged('mcp_server_ready');
    expect(opened.toolsOf('s')).toHaveLength(3);
  });
});

describe('a server that does not start', () => {
  test.concurrent.each<readonly [trick: string, why: RegExp]>([
    ['start_exit', /./],
    ['start_refused', /not today/],
    ['old_version', /1999-01-01/],
    ['bad_initialize', /./],
    ['endless_line', /more than 8388608 bytes/],
    ['no_such_trick', /no trick no_such_trick/],
  ])('%s: it is unavailable, another one is not', async (trick, why) => {
    await using opened = await open({ bad: raw(trick), good: raw('plain') });
    expect(await opened.logged('mcp_server_unavailable', 'bad')).toMatchObject({
      why: expect.stringMatching(why) as string,
    });
    await opened.logged('mcp_server_ready', 'good');
    expect(await opened.call('mcp.good.echo')).toMatchObject({ success: true });
  });

  test.concurrent('a program that does not exist', async () => {
    await using opened = await open({ bad: { command: '/nowhere/program' }, good: raw('plain') });
    expect(await opened.logged('mcp_server_unavailable', 'bad')).toMatchObject({ server: 'bad' });
    await opened.logged('mcp_server_ready', 'good');
  });

  test.concurrent('one that ends at the probe of newer protocols is asked in the older one', async () => {
    await using opened = await open({ s: raw('exits_at_probe') });
    await opened.logged('mcp_server_ready', 's');
    expect(await opened.call('mcp.s.echo')).toMatchObject({ success: true });
  });
});

describe('a call that a server answers badly', () => {
  const result = (value: unknown): JsonObject => raw('result', JSON.stringify(value));
  test.concurrent.each<readonly [what: string, server: JsonObject, code: string]>([
    ['an error of its own', raw('error'), 'tool_error'],
    ['a refusal', raw('refuses'), 'server_refused'],
    ['its end', raw('dies'), 'server_unavailable'],
    ['a result of a gigabyte', raw('huge_result'), 'server_unavailable'],
    ['a flood of lines that are no messages', raw('junk_flood'), 'server_unavailable'],
    ['a content that is no list', result({ content: 'x' }), 'invalid_output'],
    ['a content of no objects', result({ content: [1, null] }), 'invalid_output'],
    ['a part of an unknown type', result({ content: [{ type: 'video' }] }), 'invalid_output'],
    ['a text that is none', result({ content: [{ type: 'text', text: 7 }] }), 'invalid_output'],
    ['both a result and an error', raw('both'), 'tool_threw'],
    ['a result of an unknown kind', raw('unknown_result'), 'invalid_output'],
    ['a wish for a model', raw('asks_sampling'), 'server_refused'],
    ['a wish to be called again and again', raw('asks_again', '1000'), 'server_refused'],
    ['a task without an id', raw('task_without_id'), 'invalid_output'],
    ['a task with an endless id', raw('task_long_id'), 'invalid_output'],
    ['a task that it does not know', raw('task_unknown'), 'server_refused'],
  ])('%s', async (_what, server, code) => {
    await using opened = await open({ s: server });
    await opened.logged('mcp_server_ready', 's');
    const context = code === 'tool_threw' ? { signal: AbortSignal.timeout(500) } : {};
    const report = await opened.call('mcp.s.echo', {}, context);
    expect(report.success).toBe(false);
    if (code !== 'tool_threw') expect(report.code).toBe(code);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.concurrent.each(['silence', 'other_id', 'text_id', 'null_id', 'batch'])(
    '%s: the call ends when it is stopped',
    async (trick) => {
      await using opened = await open({ s: raw(trick) });
      await opened.logged('mcp_server_ready', 's');
      const stop = new AbortController();
      const called = opened.call('mcp.s.echo', {}, { signal: stop.signal });
      setTimeout(() => stop.abort(), 300);
      expect(await called).toMatchObject({ success: false });
    },
  );

  test.concurrent.each<readonly [trick: string, text: string]>([
    ['twice', 'first'],
    ['junk', 'after the junk'],
    ['progress_flood', 'done'],
    ['unknown_notes', 'done'],
    ['stderr_flood', 'done'],
    ['samples', 'sampling: -32601'],
    ['roots', 'roots: -32601'],
    ['proto', 'ok'],
    ['proto_structured', '{}'],
    ['raw_meta', 'plain'],
  ])('%s: the call is answered all the same', async (trick, text) => {
    await using opened = await open({ s: raw(trick) });
    await opened.logged('mcp_server_ready', 's');
    expect(await opened.call('mcp.s.echo')).toMatchObject({ success: true, text });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test.concurrent.each<readonly [what: string, content: unknown, why: RegExp]>([
    ['a value that does not fit', { n: 'seven' }, /\/n must be integer/],
    ['a missing field', {}, /required/],
  ])('structured content with %s', async (_what, content, why) => {
    await using opened = await open({ s: raw('structured', JSON.stringify(content)) });
    await opened.logged('mcp_server_ready', 's');
    expect(await opened.call('mcp.s.s')).toMatchObject({
      success: false,
      code: 'invalid_output',
      text: expect.stringMatching(why) as string,
    });
  });

  test('a pattern that takes for ever holds nothing', async () => {
    await using opened = await open({ s: raw('slow_pattern'), good: raw('plain') });
    await opened.logged('mcp_server_ready', 's');
    const called = opened.call('mcp.s.s');
    const from = performance.now();
    expect(await opened.call('mcp.good.echo')).toMatchObject({ success: true });
    expect(performance.now() - from).toBeLessThan(1_000);
    expect(await called).toMatchObject({
      success: false,
      code: 'invalid_output',
      text: expect.stringContaining('took longer') as string,
    });
  });

  test.concurrent('a result of many parts, and one of many bytes, stay within memory', async () => {
    await using opened = await open({ many: raw('many_blocks', '20000'), large: raw('large_result', '6000000') });
    await opened.until(() => opened.toolsOf('many').length + opened.toolsOf('large').length === 2);
    const many = await opened.call('mcp.many.echo');
    expect(many.text).toMatch(/\[18977 more parts are left out\]$/);
    expect((await opened.call('mcp.large.echo')).text).toHaveLength(6_000_000);
  });

  test('a gigabyte of one result costs the bridge less than 64 MiB', async () => {
    await using opened = await open({ s: raw('huge_result') });
    await opened.logged('mcp_server_ready', 's');
    const before = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 5);
    await opened.call('mcp.s.echo');
    clearInterval(watch);
    expect(peak - before).toBeLessThan(64 * 1_048_576);
  });
});

test.concurrent('tools that change again and again are listed less and less often', async () => {
  await using opened = await open({ s: raw('change_flood'), good: raw('plain') });
  await opened.logged('mcp_server_ready', 's');
  const from = performance.now();
  await opened.until(() => opened.mcp.toolsets.version() > 4);
  expect(opened.toolsOf('s')).toHaveLength(1);
  expect(performance.now() - from).toBeGreaterThan(500);
  expect(await opened.call('mcp.good.echo')).toMatchObject({ success: true });
});

test.concurrent('a server of which nothing is configured any more answers no call', async () => {
  await using opened = await open({ s: raw('plain') });
  await opened.logged('mcp_server_ready', 's');
  opened.configure({});
  await opened.until(() => opened.toolsOf('s').length === 0);
  expect(await opened.call(brand<'ToolId'>('mcp.s.echo'))).toMatchObject({
    success: false,
    code: 'server_unavailable',
  });
});
