// A call whose tool has another definition in the bridge than in the plan (docs/bridge.md).
import { expect, test } from 'vitest';
import { brand } from '../../../schemas/ids.ts';
import { defineTool } from '../../../schemas/define-tool.ts';
import { SESSION, call, newWorld, statusOf } from '../../support/bridge/harness.ts';

const refOf = (name: string) =>
  defineTool({ tool_id: `test.${name}`, tool_name: name, description: name, input_schema: { type: 'object' } })
    .tool_ref;

test('is not run, whether it reads or writes, and the model is told; others run', async () => {
  const world = newWorld({ turns: [['read', 'write', 'again', 'solo'].map((name) => call(name, name, { ms: 1 }))] });
  const ran: string[] = [];
  const definitions = {
    'test.read': brand<'Digest'>('0'.repeat(64)),
    'test.write': refOf('again'),
    'test.again': refOf('again'),
  };
  const run = ({ call_id }: { readonly call_id: string }) => {
    ran.push(call_id);
    return Promise.resolve({ success: true, text: 'done' });
  };
  world.start({ executors: [{ tools: ['test.*'], definitions, run }] });
  world.request();
  await world.finish();
  expect(ran.toSorted()).toEqual(['again', 'solo']);
  expect(statusOf(world)).toBe('completed');
  const settled = world.engine.of('ToolCallSettled').filter(({ outcome }) => outcome !== 'succeeded');
  expect(settled.map(({ call_id }) => call_id).toSorted()).toEqual(['read', 'write']);
  for (const { result } of settled)
    expect(JSON.stringify(result)).toContain('error: tool_changed: the call was not run');
  expect(world.engine.state(SESSION).run).toBe(null);
});
