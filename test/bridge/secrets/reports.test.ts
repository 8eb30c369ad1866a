// What a bridge reports and logs of a call holds no known secret, whatever text of the call holds it.
import { expect, test } from 'vitest';
import type { CallReport } from '../../../bridge/executors/call-report.ts';
import { MESSAGE_CHARS_MAX } from '../../../schemas/limits.ts';
import { SESSION, call, newWorld } from '../../support/bridge/harness.ts';

const SECRET = 'sk-proj-9aZk37Qm2LxW81bTnVcRf0Yd';
/** A text that is cut in the secret where it is clipped. */
const CUT = `${'x'.repeat(MESSAGE_CHARS_MAX - 20)}${SECRET}`;

const report = (text: string): CallReport => ({
  success: false,
  text,
  message: `for people: ${SECRET}`,
  nextAction: `give ${SECRET}`,
  data: { [SECRET]: [SECRET] },
});

test.each([
  ['a text, a message, a hint and data', () => Promise.resolve(report(`failed with ${SECRET}`))],
  ['a text that is clipped in it', () => Promise.resolve(report(CUT))],
  ['an error that is thrown', () => Promise.reject(new Error(SECRET))],
  ['an error that is clipped in it', () => Promise.reject(new Error(CUT))],
  ['an answer that is no report', () => Promise.resolve({ success: true, text: 1, [SECRET]: 1 } as never)],
])('%s', async (_what, run) => {
  const world = newWorld({ turns: [[call('w', 'write')]] });
  world.start({ executors: [{ tools: ['test.*'], run }], secrets: [SECRET] });
  world.request();
  await world.finish();
  const [settled] = world.engine.of('ToolCallSettled');
  const line = world.log.find(({ event }) => event === 'call_settled');
  expect(settled?.outcome).toBe('failed');
  expect(line).toMatchObject({ session_id: SESSION, error: expect.any(String) as string });
  for (const said of [settled, line]) expect(JSON.stringify(said)).not.toContain(SECRET.slice(0, 8));
});

test('a message for people is kept, with the mark in place of the secret', async () => {
  const world = newWorld({ turns: [[call('w', 'write')]] });
  const run = (): Promise<CallReport> => Promise.resolve(report('failed'));
  world.start({ executors: [{ tools: ['test.*'], run }], secrets: [SECRET] });
  world.request();
  await world.finish();
  expect(world.engine.of('ToolCallSettled')[0]?.result).toMatchObject({
    message: 'for people: ‹secret›',
    nextAction: 'give ‹secret›',
    data: { '‹secret›': ['‹secret›'] },
  });
});
