// Definitions of tools at the edge: a schema that would check nothing is refused, and other APIs' types are translated.
import { describe, expect, test } from 'vitest';
import { toolRef } from '../../schemas/define-tool.ts';
import type { ToolSpec } from '../../schemas/index.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { type World, newWorld, packageOf } from '../support/engine/world.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { tool } from '../support/tools.ts';

const withTool = (spec: ToolSpec): Promise<World> =>
  newWorld().then(async (world) => {
    await world.talk.create(packageOf([tool('first'), spec]));
    return world;
  });

const schemaOf = async (world: World, name: string): Promise<ToolSpec | undefined> =>
  Object.values((await world.talk.state()).tool_registry).find(({ tool_name }) => tool_name === name);

const BROKEN: readonly [string, JsonObject][] = [
  ['an unknown type', { type: 'strng' }],
  ['a keyword of the wrong form', { required: 'path' }],
  ['an invalid pattern', { properties: { x: { pattern: '(' } } }],
  ['a reference to nowhere', { $ref: '#/nowhere' }],
  ['a reference to itself', { $ref: '#' }],
];

describe('a schema with', () => {
  test.each(BROKEN)('%s is refused with its path when a session is created', async (_name, schema) => {
    const { talk } = await newWorld();
    const create = (spec: ToolSpec) => talk.client.createSession({ tool_package: packageOf([tool('first'), spec]) });
    const input = await refusal(create(tool('second', { input_schema: schema })));
    expect(input).toMatchObject({ code: 'registry_invalid', path: '/registry/1/input_schema' });
    expect(input.message).toContain('"second" does not compile');
    const output = await refusal(create(tool('second', { output_schema: schema })));
    expect(output).toMatchObject({ code: 'registry_invalid', path: '/registry/1/output_schema' });
  });

  test.each(BROKEN)('%s is refused when the registry is replaced', async (_name, schema) => {
    const { talk } = await withTool(tool('second'));
    const registry = [tool('first'), tool('second', { input_schema: schema })];
    const refused = await refusal(talk.client.submit(talk.id, { events: [{ kind: 'ToolRegistrySet', registry }] }));
    expect(refused.code).toBe('registry_invalid');
    expect(refused.path).toContain('/registry/1/input_schema');
  });
});

describe('a time to be answered on a tool that', () => {
  const ELSEWHERE: readonly [string, ToolSpec['executor']][] = [
    ['a bridge runs', { kind: 'effect', effect_kind: 'any' }],
    ['the host loop runs', { kind: 'host_loop', bridge: 'any' }],
    ['a server runs', { kind: 'mcp', server: 'any', tool: 'any' }],
    ['is a skill', { kind: 'skill', skill: 'any' }],
    ['the fold settles', { kind: 'workflow', workflow: 'permissions.check' }],
  ];

  test.each(ELSEWHERE)('%s is refused, also where the same definition without it is known', async (_, executor) => {
    const { talk } = await withTool(tool('second', { executor }));
    const registry = [tool('first'), tool('second', { executor, answer_within_ms: 700 })];
    const refused = { code: 'registry_invalid', path: expect.stringContaining('/registry/1/answer_within_ms') };
    expect(await refusal(talk.client.createSession({ tool_package: packageOf(registry) }))).toMatchObject(refused);
    const replaced = await refusal(talk.client.submit(talk.id, { events: [{ kind: 'ToolRegistrySet', registry }] }));
    expect(replaced).toMatchObject(refused);
    expect(replaced.message).toContain('no person fulfils the calls of the tool "second"');
  });

  test.each([
    ['whose executor is custom', { executor: { kind: 'custom' } }],
    ['whose owner is the application', { ownership: 'custom' }],
  ] as const)('%s is taken', async (_, custom) => {
    const world = await withTool(tool('second', { ...custom, answer_within_ms: 700 }));
    expect((await schemaOf(world, 'second'))?.answer_within_ms).toBe(700);
  });
});

test('a tool whose reference belongs to another definition vouches for nothing', async () => {
  const { talk } = await withTool(tool('second'));
  const liar = { ...tool('second', { input_schema: { type: 'strng' } }), tool_ref: tool('second').tool_ref };
  const refused = await refusal(talk.client.createSession({ tool_package: packageOf([liar]) }));
  expect(refused.code).toBe('registry_invalid');
});

test('types as Gemini writes them are recorded as those of JSON Schema, with the digest of that definition', async () => {
  const written = { type: 'OBJECT', properties: { n: { type: 3 }, list: { type: 'ARRAY', maxItems: '3' } } };
  const plain = { type: 'object', properties: { n: { type: 'integer' }, list: { type: 'array', maxItems: 3 } } };
  const world = await withTool(tool('second', { input_schema: written, output_schema: { type: 'STRING' } }));
  const spec = await schemaOf(world, 'second');
  expect(spec).toMatchObject({ input_schema: plain, output_schema: { type: 'string' } });
  expect(spec?.tool_ref).toBe(toolRef(spec as ToolSpec));
});

test('a definition that needs no change keeps its digest', async () => {
  const given = tool('second', { input_schema: { type: 'object', enum: [{ type: 'OBJECT' }] } });
  expect((await schemaOf(await withTool(given), 'second'))?.tool_ref).toBe(given.tool_ref);
});
