// A catalog as it is read from real files: the tools of its entries, every fault with its place, and what a check warns of.
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ToolSpec } from '../../schemas/tool-spec.ts';
import { toolRef } from '../../schemas/define-tool.ts';
import { CATALOG_ENTRIES_MAX } from '../../schemas/limits.ts';
import { catalogWarnings, likenessOf } from '../../src/catalog/check-catalog.ts';
import { readCatalog } from '../../src/catalog/read-catalog.ts';
import { nameWithin } from '../../src/files/tool-names.ts';
import { defaultToolPackage } from '../../src/toolsets/default-package.ts';
import { noPause, skillText, temporaryDirectory, writeFiles } from '../support/skills/skill-folders.ts';

const BASH = {
  name: 'bash',
  description: 'Run a shell command. command: the line, as sh -c takes it. Returns its output.',
  input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  implementation: { kind: 'platform', ref: 'host.exec' },
};

/** The catalog of one file. */
async function catalogOf(content: unknown): Promise<Awaited<ReturnType<typeof readCatalog>>> {
  const root = temporaryDirectory();
  writeFiles(root, { 'catalog.json': JSON.stringify(content) });
  return await readCatalog(join(root, 'catalog.json'), noPause);
}

const shell = defaultToolPackage().registry.find(({ tool_id }) => tool_id === 'host.exec');

describe("September's bash", () => {
  test('is the tool host.exec under another name, with its mode, claims, rules and executor', async () => {
    const { tools, faults } = await catalogOf({ ...BASH, requires_permission: true, timeout_ms: 5_000 });
    expect(faults).toEqual([]);
    const [tool] = tools;
    expect(tool?.spec).toEqual({
      ...shell,
      tool_id: 'catalog.platform.bash',
      tool_name: 'bash',
      description: BASH.description,
      input_schema: { additionalProperties: false, ...BASH.input_schema },
      permission_policy: 'always_ask',
      timeout_ms: 5_000,
      tool_ref: toolRef(tool?.spec as ToolSpec),
    });
    expect(ToolSpec.is(tool?.spec)).toBe(true);
  });

  test('is the example of the documents, which a check finds nothing wrong with', async () => {
    const { tools, faults } = await readCatalog('docs/bash-catalog.json', noPause);
    expect(faults).toEqual([]);
    expect(tools.map(({ spec }) => [spec.tool_name, spec.executor])).toEqual([
      ['bash', { kind: 'effect', effect_kind: 'host.exec' }],
    ]);
    expect(catalogWarnings(tools)).toEqual([]);
  });

  test.each(['host.exec', 'shell', 'bash'])('may be named %s', async (ref) => {
    const { tools } = await catalogOf({ ...BASH, implementation: { kind: 'platform', ref } });
    expect(tools[0]?.spec.executor).toEqual({ kind: 'effect', effect_kind: 'host.exec' });
  });
});

test('a dotted name is mapped to the alphabet of models, and the original is shown', async () => {
  const { tools, faults } = await catalogOf({
    name: 'slack.send_message',
    description: 'Send a message to a channel. text: the body.',
    input_schema: { type: 'object', properties: { text: { type: 'string' } } },
    implementation: { kind: 'mcp', ref: { server: 'slack', tool: 'send_message' } },
  });
  expect(faults).toEqual([]);
  expect(tools[0]?.spec).toMatchObject({
    tool_id: 'catalog.mcp.slack.send_message',
    tool_name: 'slack__send_message',
    description: expect.stringContaining('slack.send_message'),
    executor: { kind: 'mcp', server: 'slack', tool: 'send_message' },
    ownership: 'mcp',
    read_only: false,
    destructive: true,
  });
});

test('an entry of a skill pins the folder that lies in the catalog, and takes its schema', async () => {
  const root = temporaryDirectory();
  const command = 'run: [sh, go.sh]\ninput_schema:\n  type: object\n  properties:\n    month: {type: string}\n';
  writeFiles(root, {
    'skills/report/SKILL.md': skillText('report', command),
    'tools/report.json': JSON.stringify({
      name: 'report',
      description: 'Write the report of a month.',
      implementation: { kind: 'skill', ref: 'report' },
    }),
    'core_soul.json': '{}',
  });
  const first = await readCatalog(root, noPause);
  expect(first.faults).toEqual([]);
  expect(first.tools[0]?.spec).toMatchObject({
    tool_id: 'catalog.skill.report',
    executor: { kind: 'skill', skill: 'report', digest: expect.stringMatching(/^sha256:/) },
    input_schema: { type: 'object', properties: { month: { type: 'string' } } },
  });
  writeFiles(root, { 'skills/report/go.sh': 'echo other' });
  const second = await readCatalog(root, noPause);
  expect(second.tools[0]?.spec.executor).not.toEqual(first.tools[0]?.spec.executor);
  expect(second.tools[0]?.definition).not.toEqual(first.tools[0]?.definition);
  expect(second.digest).not.toBe(first.digest);
});

test("an entry of refold's own shape is a tool spec with the safest defaults", async () => {
  const { tools, faults } = await catalogOf([
    {
      tool_name: 'ask_finance',
      description: 'Ask the finance team.',
      input_schema: { type: 'object' },
      executor: { kind: 'custom' },
      answer_within_ms: 1_000,
    },
  ]);
  expect(faults).toEqual([]);
  expect(tools[0]?.spec).toMatchObject({
    tool_id: 'catalog.tool.ask_finance',
    executor: { kind: 'custom' },
    destructive: true,
    read_only: false,
    answer_within_ms: 1_000,
  });
});

describe('faults', () => {
  const FAULTS: Readonly<Record<string, readonly [entry: unknown, at: string, message: RegExp]>> = {
    'no object': ['x', '', /must be an object/],
    'an unknown field': [{ ...BASH, inputschema: {} }, '/inputschema', /is no field/],
    'no name': [{ ...BASH, name: undefined }, '/name', /is required/],
    'a bad name': [{ ...BASH, name: 'a b' }, '/name', /must be parts/],
    'a long name': [{ ...BASH, name: 'a'.repeat(101) }, '/name', /at most 100/],
    'a name that turns the text': [{ ...BASH, name: 'a\u202eb' }, '/name', /U\+202E/],
    'a description that hides': [{ ...BASH, description: 'a\u200b\u2060b command' }, '/description', /U\+200B|U\+2060/],
    'a blank description': [{ ...BASH, description: ' ' }, '/description', /not blank/],
    'a schema of a string': [{ ...BASH, input_schema: { type: 'string' } }, '/input_schema', /"type": "object"/],
    'no implementation': [{ ...BASH, implementation: undefined }, '/implementation', /is required/],
    'an unknown kind': [{ ...BASH, implementation: { kind: 'x', ref: 'y' } }, '/implementation/kind', /platform/],
    'a kind of the prototype': [
      { ...BASH, implementation: { kind: 'constructor' } },
      '/implementation/kind',
      /platform/,
    ],
    'an unknown tool': [
      { ...BASH, implementation: { kind: 'platform', ref: 'web_search' } },
      '/implementation/ref',
      /name one of/,
    ],
    'the session of the host': [
      { ...BASH, implementation: { kind: 'platform', ref: 'host.session.open' } },
      '/implementation/ref',
      /name one of/,
    ],
    'an argument that the tool has not': [
      { ...BASH, input_schema: { ...BASH.input_schema, properties: { command: {}, cmd: {} } } },
      '/input_schema/properties/cmd',
      /no argument of shell/,
    ],
    'a line and a list': [
      { ...BASH, input_schema: { ...BASH.input_schema, properties: { command: {}, argv: {} } } },
      '/input_schema/properties/argv',
      /no argument of shell/,
    ],
    'an argument that is missing': [
      { ...BASH, input_schema: { ...BASH.input_schema, required: [] } },
      '/input_schema/required',
      /must name "command"/,
    ],
    'any other argument': [
      { ...BASH, input_schema: { ...BASH.input_schema, additionalProperties: true } },
      '/input_schema/additionalProperties',
      /must be false/,
    ],
    'more time than the tool has': [{ ...BASH, timeout_ms: 3_600_000 }, '/timeout_ms', /from 1 to 120000/],
    'a flag that is text': [{ ...BASH, requires_permission: 'true' }, '/requires_permission', /true or false/],
    'a skill that is not there': [
      { ...BASH, implementation: { kind: 'skill', ref: 'report' } },
      '/implementation/ref',
      /give its digest/,
    ],
    'a digest that is none': [
      { ...BASH, implementation: { kind: 'skill', ref: 'report', digest: 'abc' } },
      '/implementation/digest',
      /digest of the folder/,
    ],
    'a server with a path': [
      { ...BASH, implementation: { kind: 'mcp', ref: { server: '../x', tool: 'a' } } },
      '/implementation/ref/server',
      /name of a server/,
    ],
    'the name of a tool of refold': [{ ...BASH, name: 'shell' }, '/name', /refold's own tool host.exec/],
    'another toolset': [
      {
        tool_id: 'mcp.x.y',
        tool_name: 'y',
        description: 'y',
        input_schema: { type: 'object' },
        executor: { kind: 'custom' },
      },
      '/tool_id',
      /must begin with "catalog\."/,
    ],
    'a tool of refold with another mode': [
      {
        tool_name: 'peek',
        tool_id: 'catalog.platform.peek',
        description: 'Looks.',
        input_schema: { type: 'object' },
        executor: { kind: 'effect', effect_kind: 'host.exec' },
        mode: 'read',
        read_only: true,
      },
      '/executor/effect_kind',
      /name it with "implementation"/,
    ],
    'a workflow': [
      {
        tool_name: 'y',
        description: 'y',
        input_schema: { type: 'object' },
        executor: { kind: 'workflow', workflow: 'x' },
      },
      '/executor/kind',
      /must not be "workflow"/,
    ],
  };
  test.each(Object.keys(FAULTS))('%s', async (which) => {
    const [entry, at, message] = FAULTS[which] ?? [{}, '', /never/];
    const { tools, faults } = await catalogOf({ tools: [entry] });
    expect(tools).toEqual([]);
    expect(faults.map((fault) => fault.at)).toContain(`/tools/0${at}`);
    expect(faults.find((fault) => fault.at === `/tools/0${at}`)?.message).toMatch(message);
  });

  test('all of them are said at once, with their files, also those of one tool spec', async () => {
    const root = temporaryDirectory();
    writeFiles(root, {
      'a.json': JSON.stringify({ ...BASH, name: 5, timeout_ms: -1, implementation: { kind: 'platform', ref: 'x' } }),
      'b.json': '{"name": "b",',
      'c.json': '[{"name":"c","name":"c"}]',
      'd.json': JSON.stringify([
        {
          tool_name: 'd',
          description: 'd',
          input_schema: { type: 'object' },
          executor: { kind: 'custom' },
          mode: 'x',
          read_only: 5,
        },
      ]),
      'e.json': JSON.stringify({ ['__proto__']: 1 }).replace('{', '{"__proto__":{},'),
      'f.json': new Uint8Array([0xff]),
      'g.txt': 'not read',
    });
    const { faults } = await readCatalog(root, noPause);
    const places = faults.map(({ file, at }) => `${file.slice(root.length + 1)}${at}`);
    expect(places).toEqual(
      expect.arrayContaining([
        'a.json/implementation/ref',
        'a.json/name',
        'b.json',
        'd.json/0/mode',
        'd.json/0/read_only',
      ]),
    );
    for (const file of ['c.json', 'e.json', 'f.json'])
      expect(places.some((place) => place.startsWith(file))).toBe(true);
    expect(places.some((place) => place.startsWith('g.txt'))).toBe(false);
  });

  test('a fault anywhere leaves no tool in force', async () => {
    const { tools, faults } = await catalogOf([BASH, { ...BASH, name: 'other', timeout_ms: 0 }]);
    expect(tools).toEqual([]);
    expect(faults.map(({ at }) => at)).toEqual(['/1/timeout_ms']);
  });

  test('two entries with one name for models are both named', async () => {
    const one = { ...BASH, name: 'git.log' };
    const { faults } = await catalogOf([one, { ...one, name: 'git__log' }]);
    expect(faults.map(({ at }) => at)).toEqual(['/0/name', '/1/name']);
  });

  test('files that are large, pipes, missing or empty directories', async () => {
    const root = temporaryDirectory();
    writeFiles(root, { 'large.json': '' });
    truncateSync(join(root, 'large.json'), 1_073_741_824);
    execFileSync('mkfifo', [join(root, 'pipe.json')]);
    symlinkSync('pipe.json', join(root, 'linked.json'));
    const { faults } = await readCatalog(root, noPause);
    expect(faults.map(({ message }) => message)).toEqual([
      expect.stringMatching(/at most 1048576/),
      expect.stringMatching(/no regular file/),
      expect.stringMatching(/no regular file/),
    ]);
    expect((await readCatalog(temporaryDirectory(), noPause)).faults[0]?.message).toMatch(/no file that ends in .json/);
    expect((await readCatalog('/nonexistent', noPause)).faults[0]?.message).toMatch(/no such file/);
  });

  test('more entries than a catalog may have', async () => {
    const many = Array.from({ length: CATALOG_ENTRIES_MAX + 1 }, (_, at) => ({ ...BASH, name: `tool${at}` }));
    expect((await catalogOf(many)).faults.map(({ message }) => message)).toEqual([
      expect.stringMatching(/at most 512 are allowed/),
    ]);
  });
});

test('the same entries give the same tools, in whatever files and order they stand', async () => {
  const entries = ['bash', 'git.log', 'a', 'Zeta'].map((name) => ({ ...BASH, name }));
  const expected = await catalogOf(entries);
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(entries, { minLength: entries.length }),
      fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: entries.length, maxLength: entries.length }),
      async (shuffled, names) => {
        const root = temporaryDirectory();
        for (const [at, entry] of shuffled.entries())
          writeFileSync(join(root, `${names[at] ?? ''}${at}.json`), JSON.stringify(entry));
        const { tools, digest } = await readCatalog(root, noPause);
        expect(digest).toBe(expected.digest);
        expect(tools.map(({ spec }) => spec)).toEqual(expected.tools.map(({ spec }) => spec));
      },
    ),
    { numRuns: 30 },
  );
});

/** The names by what each becomes. */
function groupedBy(names: readonly string[], become: (name: string) => string): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const name of names) groups.set(become(name), [...(groups.get(become(name)) ?? []), name]);
  return groups;
}

describe('names for models', () => {
  const original = fc.oneof(
    fc.stringMatching(/^[a-z_-]{1,4}(\.[a-z_-]{1,4}){0,3}$/),
    fc.string({ minLength: 1, maxLength: 90 }),
    fc.stringMatching(/^[A-Za-z0-9_.-]{50,100}$/),
  );

  test('fit the alphabet, depend on their original alone, and stay as they are where they fit', () => {
    fc.assert(
      fc.property(original, (name) => {
        expect(nameWithin(name)).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
        expect(nameWithin(name)).toBe(nameWithin(name));
        if (/^[A-Za-z0-9_-]{1,64}$/.test(name)) expect(nameWithin(name)).toBe(name);
      }),
      { numRuns: 500 },
    );
  });

  test('two dotted names never meet, and a dotted name meets only a name without dots', () => {
    const close = fc.stringMatching(/^[ab_.]{1,6}$/);
    fc.assert(
      fc.property(fc.uniqueArray(close, { minLength: 100, maxLength: 200 }), (names) => {
        const meeting = groupedBy(names, nameWithin);
        for (const [name, originals] of meeting) {
          // `a.b` and `a__b`: a catalog with both is refused.
          expect(originals.filter((each) => each !== name).length).toBeLessThanOrEqual(1);
        }
      }),
    );
    expect(nameWithin('a.b')).toBe('a__b');
  });
});

describe('what a check warns of', () => {
  test.each([
    ['send_message', 'sendMessage', /case and separators/],
    ['git-commit', 'GitCommit', /case and separators/],
    ['read_files', 'read_file', /one character/],
    ['raed_file', 'read_file', /one character/],
    ['send_massages', 'send_message', /2 characters/],
  ])('%s is close to %s', (a, b, how) => {
    expect(likenessOf(a, b)).toMatch(how);
    expect(likenessOf(b, a)).toBe(likenessOf(a, b));
  });

  test.each([
    ['git', 'get'],
    ['read_file', 'write_file'],
    ['list_users', 'list_orders'],
  ])('%s is not close to %s', (a, b) => {
    expect(likenessOf(a, b)).toBeNull();
  });

  test('close names, also to those of refold, and arguments that no text explains', async () => {
    const two = {
      type: 'object',
      properties: { command: {}, cwd: { description: 'Where.' }, env: {} },
      required: ['command'],
    };
    const { tools, faults } = await catalogOf([
      { ...BASH, name: 'run_shell', input_schema: two },
      { ...BASH, name: 'runShell' },
      { ...BASH, name: 'shells' },
    ]);
    expect(faults).toEqual([]);
    const warned = catalogWarnings(tools).map(({ code, message }) => `${code}: ${message}`);
    expect(warned).toHaveLength(3);
    expect(warned).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/near_collision: .*runShell.*run_shell|near_collision: .*run_shell.*runShell/),
        expect.stringMatching(/near_collision: "shells" and shell \(host\.exec\)/),
        expect.stringMatching(/field_not_described: .*"env"/),
      ]),
    );
  });

  test('a name inside a longer word is not named', async () => {
    const { tools } = await catalogOf({ ...BASH, description: 'Runs commands.' });
    expect(catalogWarnings(tools).map(({ code }) => code)).toEqual(['field_not_described']);
  });
});
