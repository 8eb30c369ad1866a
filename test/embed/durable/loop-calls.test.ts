import { expect, test } from 'vitest';
import { newLoopCalls } from '../../../embed/durable/loop-calls.ts';
import { brand, digestJson } from '../../../schemas/index.ts';

const call = { session_id: brand<'SessionId'>('shop'), call_id: brand<'CallId'>('run-1-1-0') };
const target = (tool_id: string) => ({ ...call, tool_id: brand<'ToolId'>(tool_id), executor: null }) as never;
const context = { signal: new AbortController().signal } as never;

test('what is offered runs for its own tool, with the arguments that the bridge has checked', async () => {
  const ran: unknown[] = [];
  const { executor, offer } = newLoopCalls();
  offer('run-1-1-0', { tool: 'refund', digest: digestJson({ cents: 10 }), run: (args) => ran.push(args) });
  for (const [tool, cents] of [
    ['app.find', 10],
    ['app.refund', 999_999],
  ] as const) {
    const report = await executor.run(target(tool), { cents }, context);
    expect(report).toMatchObject({ success: false, code: 'not_run' });
  }
  expect(ran).toEqual([]);
  expect(await executor.run(target('app.refund'), { cents: 10 }, context)).toMatchObject({ success: true });
  expect(ran).toEqual([{ cents: 10 }]);
});
