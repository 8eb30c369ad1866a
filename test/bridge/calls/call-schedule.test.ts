import { describe, expect, test } from 'vitest';
import { type CallSchedule, newCallSchedule } from '../../../bridge/calls/call-schedule.ts';
import type { HeldCall, ToolCall } from '../../../bridge/calls/held-call.ts';
import { digestText } from '../../../schemas/canonical.ts';
import type { Ingress } from '../../../schemas/event.ts';
import { brand } from '../../../schemas/ids.ts';
import type { ToolBatchPlan } from '../../../schemas/plan.ts';

const SESSION = brand<'SessionId'>('s');

const effect = (id: string, more: Partial<ToolCall> = {}): ToolCall => ({
  kind: 'tool.call',
  effect_id: brand(`batch-1/${id}/${more.attempt ?? 1}`),
  session_id: SESSION,
  batch_id: brand('batch-1'),
  call_id: brand(id),
  plan_hash: digestText('plan'),
  attempt: 1,
  tool_id: brand('test.read'),
  tool_name: brand('read'),
  executor: { kind: 'host_loop', bridge: 'test' },
  arguments_digest: digestText('{}'),
  arguments: {},
  after: [],
  group: 0,
  read_only: true,
  repeatable: true,
  timeout_ms: 1_000,
  output_bytes_max: 1_000,
  tool_concurrency_max: 10,
  ...more,
});

function add(schedule: CallSchedule, owed: ToolCall): HeldCall {
  const call = schedule.add(owed, () => null);
  if (call === null) throw new Error(`${owed.call_id} was not added`);
  return call;
}

const settled = (id: string): Ingress => ({
  kind: 'ToolCallSettled',
  batch_id: brand('batch-1'),
  call_id: brand(id),
  plan_hash: digestText('plan'),
  attempt: 1,
  result: { success: true },
  output: { text: '' },
});

describe('a call', () => {
  test('that is granted twice, or granted again after it has settled, is added once', () => {
    const schedule = newCallSchedule(10);
    const call = add(schedule, effect('a'));
    expect(schedule.add(effect('a'), () => null)).toBeNull();
    schedule.startNext();
    schedule.endRun(call);
    schedule.settled(call);
    expect(schedule.add(effect('a'), () => null)).toBeNull();
  });

  test('is not added again for a recorded attempt, but is added for the next attempt', () => {
    const schedule = newCallSchedule(10);
    schedule.tried(add(schedule, effect('a')));
    add(schedule, effect('b', { after: [brand('a')] }));
    expect(schedule.add(effect('a'), () => null)).toBeNull();
    expect(schedule.startNext()).toBeNull();
    const again = add(schedule, effect('a', { attempt: 2 }));
    expect(schedule.startNext()).toBe(again);
    schedule.settled(again);
    expect(schedule.startNext()?.effect.call_id).toBe('b');
  });

  test('does not wait for a call that settled before its own grant arrived', () => {
    const schedule = newCallSchedule(10);
    schedule.settled(add(schedule, effect('a')));
    add(schedule, effect('b', { after: [brand('a')] }));
    expect(schedule.startNext()?.effect.call_id).toBe('b');
  });

  test('can be added for a later attempt while an abandoned attempt is still held', () => {
    const schedule = newCallSchedule(10);
    const first = add(schedule, effect('a'));
    const second = add(schedule, effect('a', { attempt: 2 }));
    schedule.drop(first);
    expect(schedule.find(SESSION, brand('batch-1'), brand('a'))).toBe(second);
  });

  test('that is dropped keeps others waiting until the engine no longer owes it', () => {
    const schedule = newCallSchedule(10);
    const call = add(schedule, effect('a'));
    add(schedule, effect('b', { after: [brand('a')] }));
    expect(schedule.blockedElsewhere()).toEqual([]);
    schedule.drop(call);
    expect(schedule.startNext()).toBeNull();
    expect(schedule.blockedElsewhere()).toEqual([SESSION]);
    schedule.observe(SESSION, [effect('b')]);
    expect(schedule.startNext()?.effect.call_id).toBe('b');
  });

  test('waits for the calls before one that the fold settled', () => {
    const schedule = newCallSchedule(10);
    const writes = add(schedule, effect('a'));
    expect(schedule.startNext()).toBe(writes);
    const denied = add(schedule, effect('b', { after: [brand('a')] }));
    add(schedule, effect('c', { after: [brand('b')] }));
    schedule.drop(denied);
    schedule.observe(SESSION, [effect('a'), effect('c', { after: [brand('a')] })]);
    expect(schedule.startNext()).toBeNull();
    schedule.settled(writes);
    expect(schedule.startNext()?.effect.call_id).toBe('c');
  });

  test('does not wait again for a call that settled here after the view was asked for', () => {
    const schedule = newCallSchedule(10);
    const call = add(schedule, effect('a'));
    add(schedule, effect('b', { after: [brand('a')] }));
    schedule.settled(call);
    schedule.observe(SESSION, [effect('b', { after: [brand('a')] })]);
    expect(schedule.startNext()?.effect.call_id).toBe('b');
  });
});

describe('a batch', () => {
  const planned = (...calls: readonly object[]): ToolBatchPlan =>
    ({ planned_calls: calls.map((call) => ({ executor: { kind: 'host_loop' }, ...call })) }) as never;

  function holding(plan: ToolBatchPlan | null, ...ids: readonly string[]): CallSchedule {
    const schedule = newCallSchedule(10);
    for (const id of ids) schedule.add(effect(id), () => plan);
    return schedule;
  }

  test('ends with the settlements of all its calls, and not with fewer', () => {
    const schedule = holding(planned({ call_id: 'a' }, { call_id: 'b' }), 'a', 'b');
    expect(schedule.endedBy(SESSION, [settled('a')])).toEqual([]);
    expect(schedule.endedBy(SESSION, [])).toEqual([]);
    expect(schedule.endedBy(SESSION, [settled('a'), settled('b')])).toHaveLength(1);
    schedule.settled(schedule.find(SESSION, brand('batch-1'), brand('a')) as HeldCall);
    expect(schedule.endedBy(SESSION, [settled('b')])).toHaveLength(1);
  });

  test('is not ended by this bridge when it does not know that every call has settled', () => {
    const elsewhere = planned({ call_id: 'a' }, { call_id: 'b' });
    expect(holding(elsewhere, 'a').endedBy(SESSION, [settled('a')])).toEqual([]);
    expect(holding(null, 'a').endedBy(SESSION, [settled('a')])).toEqual([]);
  });

  test('ends without reports on calls that the fold settles', () => {
    const workflow = { call_id: 'w', executor: { kind: 'workflow', workflow: 'x' } };
    const plan = planned({ call_id: 'a' }, { call_id: 'b', shares: 'a' }, workflow);
    expect(holding(plan, 'a').endedBy(SESSION, [settled('a')])).toHaveLength(1);
    const asks = planned({ call_id: 'a' }, { ...workflow, consent: { ask: 'person' } });
    expect(holding(asks, 'a').endedBy(SESSION, [settled('a')])).toEqual([]);
  });

  test('does not end with a failure that may be tried again', () => {
    const failed = { ...settled('a'), result: { success: false }, retryable: true } as Ingress;
    expect(holding(planned({ call_id: 'a' }), 'a').endedBy(SESSION, [failed])).toEqual([]);
  });
});
