// Names of MCP tools are unique, and do not depend on what else there is.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolId, ToolName } from '../../schemas/ids.ts';
import { mcpExecutorTool, mcpServerName, mcpToolId, mcpToolName } from '../../src/toolsets/mcp-names.ts';

const server = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,31}$/);
/** Few letters, so that names collide wherever they can; and names that look altered. */
const tool = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', '_', '-', '.', ' ', 'é', '\u001b', '\u200b'), minLength: 1, maxLength: 80 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 256 }),
  fc.tuple(server, server).map(([a, b]) => mcpToolName(a, b).slice('mcp__'.length)),
  fc.tuple(server, fc.string({ minLength: 1 })).map(([a, b]) => mcpToolId(a, b).slice(`mcp.${a}.`.length)),
);
const pair = fc.tuple(fc.oneof(server, fc.constantFrom('a', 'a_', 'a__b', 'a_b')), tool);

test('any name of a tool becomes one that an engine and every model API accept', () => {
  fc.assert(
    fc.property(pair, ([from, name]) => {
      expect(ToolName.is(mcpToolName(from, name))).toBe(true);
      expect(ToolId.is(mcpToolId(from, name))).toBe(true);
      expect(mcpToolId(from, name).startsWith(`mcp.${from}.`)).toBe(true);
      expect(mcpExecutorTool(from, name)).toMatch(/^[\x21-\x7e]{1,128}$/);
    }),
    { numRuns: 2_000 },
  );
});

test('two tools never have one name or one id', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(pair, { minLength: 2, maxLength: 64, selector: (one) => JSON.stringify(one) }),
      (pairs) => {
        expect(new Set(pairs.map(([from, name]) => mcpToolName(from, name))).size).toBe(pairs.length);
        expect(new Set(pairs.map(([from, name]) => mcpToolId(from, name))).size).toBe(pairs.length);
      },
    ),
    { numRuns: 2_000 },
  );
});

describe('a name is', () => {
  test.each([
    ['github', 'create_issue', 'mcp__github__create_issue', 'mcp.github.create_issue'],
    ['files', 'read.file', 'mcp__files__read_file', 'mcp.files.read.file'],
  ])('of %s %s: %s', (from, name, toolName, id) => {
    expect([mcpToolName(from, name).replace(/_[0-9a-f]{12}$/, ''), mcpToolId(from, name)]).toEqual([toolName, id]);
  });

  test('cut with a digest when it is long: two that differ in the middle stay two (gemini-cli 28970)', () => {
    const names = [
      'createConfluencePageWithAttachmentsAndPermissions',
      'deleteConfluencePageWithAttachmentsAndPermissions',
    ];
    const cut = names.map((name) => mcpToolName('atlassian-rovo-mcp-server-cloud', name));
    expect(new Set(cut).size).toBe(2);
    for (const name of cut) expect(name).toMatch(/^.{51}_[0-9a-f]{12}$/);
  });

  test('the same whatever other servers and tools there are (openai-agents-js 1934)', () => {
    // Nothing but the server and the tool is an argument; the server tells tools of one name apart.
    expect(mcpToolName('a', 'search')).toBe('mcp__a__search');
    expect(mcpToolName('b', 'search')).toBe('mcp__b__search');
  });

  test('altered where it could be told in two ways', () => {
    expect(mcpToolName('a', 'b__c')).toBe('mcp__a__b__c');
    expect(mcpToolName('a__b', 'c')).toMatch(/^mcp__a__b__c_[0-9a-f]{12}$/);
    expect(mcpToolName('a', '_b')).toBe('mcp__a___b');
    expect(mcpToolName('a_', 'b')).toMatch(/^mcp__a___b_[0-9a-f]{12}$/);
  });
});

describe('the name of a server', () => {
  /** What people call servers, with few letters, so that what is left of them is often the same. */
  const title = fc.oneof(
    fc.string({ unit: fc.constantFrom('a', 'A', '_', '-', '.', ' ', 'é', '/'), minLength: 1, maxLength: 40 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 64 }),
    server,
    // Names that look as if they had been altered, and those that are.
    fc.string({ unit: fc.constantFrom('a', 'A', '.'), minLength: 1, maxLength: 20 }).map(mcpServerName),
  );

  test('is one for the ids of its tools, whatever it is called', () => {
    fc.assert(
      fc.property(title, (one) => {
        expect(mcpServerName(one)).toMatch(/^[a-z0-9][a-z0-9_-]{0,31}$/);
        expect(ToolId.is(mcpToolId(mcpServerName(one), 'tool'))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  test('is never that of another', () => {
    fc.assert(
      fc.property(fc.uniqueArray(title, { minLength: 2, maxLength: 64 }), (titles) => {
        expect(new Set(titles.map(mcpServerName)).size).toBe(titles.length);
      }),
      { numRuns: 2_000 },
    );
  });

  test('stays: recorded sessions have tools by it', () => {
    const names = ['github', 'GitHub', 'My Server (prod)', 'a.b', '…', 'x'.repeat(64)].map(mcpServerName);
    expect(names).toEqual([
      'github',
      'github_f911e414cf6b',
      'my_server_prod_5aaf3eae219c',
      'a_b_2e7336dc8eba',
      'server_b4935894c8ce',
      'xxxxxxxxxxxxxxxxxxx_7ce100971f64',
    ]);
  });
});
