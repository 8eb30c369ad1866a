// Checks that take long in one session delay neither the end of its run nor, for long, the checks of other sessions.
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../schemas/json.ts';
import { SCHEMA_CHECKS_WAITING_MAX, SCHEMA_CHECK_MS_MAX, SCHEMA_CHECK_MS_MIN } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { CheckQueue, shareMs } from '../../src/engine/edge/check-queue.ts';
import { newRequestBudget } from '../../src/engine/edge/budget.ts';
import { type SchemaCheck, findCompileFault, newSchemaCheck } from '../../src/engine/edge/schema-check.ts';
import { checkThread } from '../../src/engine/edge/schema-thread.ts';
import { type LooseIngress, SESSION, newWorld } from '../support/engine/world.ts';
import { eventsOf } from '../support/records.ts';

const REPORT: LooseIngress = {
  kind: 'ToolCallsObserved',
  run_id: 'run-1',
  turn: 1,
  calls: [{ call_id: 'a', tool_name: 'read', arguments: { n: 'a' } }],
};
const INTERRUPT: LooseIngress = { kind: 'user.interrupt', run_id: 'run-1' };
const CANCEL: LooseIngress = { kind: 'RunCancelled', run_id: 'run-1' };
const followUp = (text: string): LooseIngress => ({ kind: 'FollowUpQueued', follow_up: { input: { text } } });

/** A session in a turn, whose checks wait on another thread until they are let go. */
async function checking() {
  let letGo = (): void => undefined;
  const made = new Promise<void>((resolve) => (letGo = resolve));
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  let waits = 0;
  const checkSchema: SchemaCheck = async (_tool, _value, budget) => {
    waits += 1;
    begin();
    await budget.wait(made);
    return { valid: true };
  };
  const world = await newWorld(undefined, undefined, { checkSchema });
  await world.talk.create();
  await world.talk.run();
  const kinds = async (): Promise<readonly string[]> =>
    eventsOf(await must(world.engine.client.records(SESSION))).map(({ kind }) => kind);
  return { ...world, letGo: () => letGo(), begun, kinds, waits: () => waits };
}

describe('a request that ends work', () => {
  test.each([
    ['an interrupt', INTERRUPT],
    ['a cancellation', CANCEL],
  ])('that comes while a check is made, %s, is answered before it', async (_name, brake) => {
    const { talk, begun, letGo, kinds } = await checking();
    const report = talk.outcome(REPORT);
    await begun;
    expect(await talk.outcome(brake)).toBe('done');
    expect(await kinds()).toEqual(['RunRequested', brake.kind]);
    letGo();
    // As if it had been sent after the request that overtook it.
    expect(await report).not.toBe('done');
    expect(await kinds()).toEqual(['RunRequested', brake.kind]);
  });

  test('that waits in the same group as the check is answered before it', async () => {
    const { talk, kinds } = await checking();
    // The first one is appended alone; the others wait meanwhile, and are one group.
    const first = talk.outcome(followUp('x'));
    void talk.outcome(REPORT);
    const brake = talk.outcome(INTERRUPT);
    expect(await first).toBe('done');
    expect(await brake).toBe('done');
    expect(await kinds()).toEqual(['RunRequested', 'FollowUpQueued', 'user.interrupt']);
  });

  test('that is refused leaves the check as it was', async () => {
    const { talk, begun, letGo, kinds } = await checking();
    const report = talk.outcome(REPORT);
    await begun;
    expect(await talk.outcome({ ...CANCEL, run_id: 'run-9' })).not.toBe('done');
    letGo();
    expect(await report).toBe('done');
    expect(await kinds()).toEqual(['RunRequested', 'ToolCallsObserved']);
  });
});

test('other requests keep their order behind a check', async () => {
  const { talk, begun, letGo, kinds, waits } = await checking();
  const all = [talk.outcome(REPORT)];
  await begun;
  all.push(talk.outcome(followUp('x')), talk.outcome(followUp('y')));
  letGo();
  expect(await Promise.all(all)).toEqual(['done', 'done', 'done']);
  expect(await kinds()).toEqual(['RunRequested', 'ToolCallsObserved', 'FollowUpQueued', 'FollowUpQueued']);
  expect(waits()).toBe(1);
});

describe('the checks that wait for the other thread', () => {
  const check = (id: number, slow = false) => ({ id, slow });
  const drained = (queue: CheckQueue<{ readonly id: number; readonly slow: boolean }>): readonly number[] => {
    const ids: number[] = [];
    for (let next = queue.next(); next !== undefined; next = queue.next()) ids.push(next.id);
    return ids;
  };

  test('are bounded in number: a slow one gives up its place to another', () => {
    const queue = new CheckQueue<ReturnType<typeof check>>();
    expect(queue.add(check(0, true))).toBeNull();
    for (let id = 1; id < SCHEMA_CHECKS_WAITING_MAX; id += 1) expect(queue.add(check(id))).toBeNull();
    expect(queue.add(check(100, true))).toMatchObject({ id: 100 });
    expect(queue.add(check(101))).toMatchObject({ id: 0 });
    expect(queue.add(check(102))).toMatchObject({ id: 102 });
    expect(queue.size).toBe(SCHEMA_CHECKS_WAITING_MAX);
  });

  test('have their turn in order, slow ones behind the others but not for ever', () => {
    const queue = new CheckQueue<ReturnType<typeof check>>();
    for (const id of [-1, -2]) queue.add(check(id, true));
    for (let id = 1; id <= 10; id += 1) queue.add(check(id));
    expect(drained(queue)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, -1, 9, 10, -2]);
  });

  test('share their time', () => {
    expect(shareMs(0)).toBe(SCHEMA_CHECK_MS_MAX);
    expect(shareMs(19)).toBe(100);
    expect(shareMs(SCHEMA_CHECKS_WAITING_MAX)).toBe(SCHEMA_CHECK_MS_MIN);
  });

  test('are answered at once beyond their number', async () => {
    const schema = (number: number) => ({ number: -number, text: '{"pattern":"^[a-z]+$"}', slow: false });
    // One runs.
    const asked = Array.from({ length: SCHEMA_CHECKS_WAITING_MAX + 3 }, (_, number) =>
      checkThread.check(schema(number + 1), '"abc"', () => 1_000),
    );
    const found = (await Promise.all(asked)).map((answer) => answer.found);
    expect(found.filter((one) => one === 'crowded')).toHaveLength(2);
    expect(found.slice(-2)).toEqual(['crowded', 'crowded']);
  });

  test('are made on the same thread after one that took too long', async () => {
    const text = JSON.stringify({ type: 'string', pattern: '^(a+)+$' });
    const slow = checkThread.check(
      { number: -1_000, text, slow: false },
      JSON.stringify(`${'a'.repeat(50)}!`),
      () => 50,
    );
    expect(await slow).toMatchObject({ found: 'late' });
    // Compiled before, it needs no text.
    const again = checkThread.check({ number: -1_000, text: '{"type":"number"}', slow: true }, '"aa"', () => 1_000);
    expect(await again).toMatchObject({ found: null });
  });
});

describe('a schema that does not compile', () => {
  const BROKEN: readonly [string, JsonObject][] = [
    ['an invalid pattern', { properties: { x: { pattern: '(' } } }],
    ['a reference to nowhere', { $ref: '#/nowhere' }],
    ['a reference to itself', { $ref: '#' }],
    [
      'a reference that leads back',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
    ],
  ];

  test.each(BROKEN)('is found also when the other thread has no time: %s', async (_name, schema) => {
    const budget = { ...newRequestBudget(), schemaMs: 0 };
    expect(await findCompileFault(schema, budget)).not.toBeNull();
    const verdict = newSchemaCheck(() => schema)({ tool_ref: 'x' } as never, { x: 'y' }, budget);
    expect(await verdict).toEqual({ valid: true, message: 'not checked: the schema does not compile' });
  });

  test('is not one whose reference leads to something', async () => {
    const budget = { ...newRequestBudget(), schemaMs: 0 };
    for (const schema of [{ $ref: '#/$defs/a', $defs: { a: {} } }, { properties: { a: { $ref: '#' } } }]) {
      expect(await findCompileFault(schema, budget)).toBeNull();
    }
  });
});
