// Several calls of one turn wait for a person at once: each answer reaches its own call, whatever the order of the answers.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { call } from '../support/session.ts';

const IDS = ['a', 'b', 'c'] as const;
const waiting = calling(asking(), ...IDS.map((id, index) => call(id, 'asks', { path: `f${index}` })));

/** The ids in the order in which they are answered, and those that are allowed. */
const answers = fc.record({
  order: fc.shuffledSubarray([...IDS], { minLength: 3 }),
  allowed: fc.subarray([...IDS]),
});

test('calls of one tool that wait at once are answered one by one, in any order', () => {
  expect(owed(waiting)).toEqual(IDS.map((id) => `agent.tool_use ${id}`));
  fc.assert(
    fc.property(answers, ({ order, allowed }) => {
      let now = waiting;
      for (const [count, id] of order.entries()) {
        now = allowed.includes(id) ? now.allowed(id) : now.denied(id);
        expect(now.effectsOf('agent.tool_use').map(({ call_id }) => call_id)).toEqual(
          IDS.filter((other) => !order.slice(0, count + 1).includes(other)),
        );
      }
      expect(statuses(now)).toEqual(IDS.map((id) => (allowed.includes(id) ? 'queued' : 'denied')));
      // Only what was allowed is ever owed to a bridge.
      expect(now.effectsOf('tool.call').map(({ call_id }) => call_id)).toEqual(
        [...IDS].filter((id) => allowed.includes(id)),
      );
    }),
  );
});

test('a late answer to a call of an earlier turn does not reach a call of a later turn, even of the same id', () => {
  const first = calling(asking(), call('a', 'asks', { path: 'f' }));
  const late = first.answerFields('a');
  const next = first
    .denied('a')
    .batchSettled()
    .observed([call('a', 'asks', { path: 'f' })]);
  expect(statuses(next)).toEqual(['waiting']);
  expect(next.refusal('user.tool_confirmation', { ...late, result: 'allow' }).code).toBe('wrong_batch');
});
