// Toolsets at the engine: who may set and approve them, and what is measured of what a source says.
import { describe, expect, test } from 'vitest';
import { BRIDGE, type Ingress, OPERATOR, type ToolsetTool, brand, digestText } from '../../schemas/index.ts';
import { must } from '../../src/client/must.ts';
import { withAccess } from '../../src/client/with-access.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { newWorld, packageOf } from '../support/engine/world.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { tool } from '../support/tools.ts';

const set = (tools: readonly ToolsetTool[]): Ingress => ({
  kind: 'ToolsetSet',
  toolset: 'skill',
  owner: brand<'OwnerId'>('config-1'),
  tools,
});

async function world() {
  const made = await newWorld();
  await made.talk.create(packageOf([tool('first')]));
  const { client, id } = made.talk;
  // A bridge names itself in every submit; the owner of a toolset is another name.
  const submit = (access: typeof BRIDGE, event: Ingress) =>
    withAccess(client, access).submit(id, {
      events: [event],
      ...(access === BRIDGE ? { owner: brand<'OwnerId'>('bridge-1') } : {}),
    });
  return { client, submit, state: () => made.talk.state() };
}

describe('a toolset', () => {
  test('is set by a bridge without a lease, and approved and removed by an operator alone', async () => {
    const { submit, state } = await world();
    await must(submit(BRIDGE, set([toolsetTool('skill.a', 0)])));
    const { tools = {} } = (await state()).toolsets?.['skill'] ?? {};
    const approve = { kind: 'ToolsetApproved', toolset: 'skill', tools } as const;
    expect(await refusal(submit(BRIDGE, approve))).toMatchObject({ code: 'forbidden_scope' });
    expect(await refusal(submit(BRIDGE, { kind: 'ToolsetRemoved', toolset: 'skill' }))).toMatchObject({
      code: 'forbidden_scope',
    });
    await must(submit(OPERATOR, approve));
    expect((await state()).toolsets?.['skill']?.pins).toEqual(tools);
  });

  test('has only schemas that compile, and those of another API in the words of JSON Schema', async () => {
    const { submit, state } = await world();
    const schema = (input_schema: object): ToolsetTool => {
      const { definition, spec } = toolsetTool('skill.b', 0);
      const { tool_id, tool_name } = spec;
      return { definition, spec: tool(tool_name, { tool_id, input_schema: input_schema as never }) };
    };
    const broken = set([toolsetTool('skill.a', 0), schema({ type: 'strng' })]);
    expect(await refusal(submit(BRIDGE, broken))).toMatchObject({
      code: 'registry_invalid',
      path: expect.stringContaining('/tools/1/spec/input_schema'),
    });
    await must(submit(BRIDGE, set([schema({ type: 'OBJECT' })])));
    expect((await state()).tool_registry['skill.b']?.input_schema).toEqual({ type: 'object' });
  });

  test('names only blobs that are there and say what it says of them', async () => {
    const { client, submit, state } = await world();
    const text = JSON.stringify({ also: 'x'.repeat(5_000) });
    const bytes = new TextEncoder().encode(text);
    const definition = { ref: digestText(text), bytes: bytes.length, head: text.slice(0, 512), tail: text.slice(-512) };
    const event = set([{ ...toolsetTool('skill.a', 0), definition }]);
    expect(await refusal(submit(BRIDGE, event))).toMatchObject({
      code: 'unknown_blob',
      path: expect.stringContaining('/tools/0/definition'),
    });
    await must(client.putBlob(bytes));
    const lying = set([{ ...toolsetTool('skill.a', 0), definition: { ...definition, head: 'harmless' } }]);
    expect(await refusal(submit(BRIDGE, lying))).toMatchObject({ code: 'content_mismatch' });
    await must(submit(BRIDGE, event));
    expect((await state()).toolsets?.['skill']?.tools).toEqual({ 'skill.a': definition.ref });
  });
});
