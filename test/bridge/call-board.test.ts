import { describe, expect, test } from 'vitest';
import { type CallBoard, newCallBoard } from '../../bridge/call-board.ts';
import type { HeldCall, ToolCall } from '../../bridge/held-call.ts';
import { digestText } from '../../schemas/canonical.ts';
import type { Ingress } from '../../schemas/event.ts';
import { brand } from '../../schemas/ids.ts';

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
  repeatable: true,
  timeout_ms: 1_000,
  output_bytes_max: 1_000,
  tool_concurrency_max: 10,
  ...more,
});

function take(board: CallBoard, owed: ToolCall): HeldCall {
  const call = board.add(owed, () => null);
  if (call === null) throw new Error(`${owed.call_id} was not taken`);
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
  test('that was granted twice, or granted again after it has settled, is not taken again', () => {
    const board = newCallBoard(10);
    const call = take(board, effect('a'));
    expect(board.add(effect('a'), () => null)).toBeNull();
    board.startNext();
    board.ranOut(call);
    board.settled(call);
    expect(board.add(effect('a'), () => null)).toBeNull();
  });

  test('of which an attempt is on record is not taken for that attempt again, and for the next one', () => {
    const board = newCallBoard(10);
    board.tried(take(board, effect('a')));
    take(board, effect('b', { after: [brand('a')] }));
    expect(board.add(effect('a'), () => null)).toBeNull();
    expect(board.startNext()).toBeNull();
    const again = take(board, effect('a', { attempt: 2 }));
    expect(board.startNext()).toBe(again);
    board.settled(again);
    expect(board.startNext()?.effect.call_id).toBe('b');
  });

  test('whose grant was under way while a call before it settled does not wait for that', () => {
    const board = newCallBoard(10);
    board.settled(take(board, effect('a')));
    take(board, effect('b', { after: [brand('a')] }));
    expect(board.startNext()?.effect.call_id).toBe('b');
  });

  test('of a later attempt is taken beside the one that was given up', () => {
    const board = newCallBoard(10);
    const first = take(board, effect('a'));
    const second = take(board, effect('a', { attempt: 2 }));
    board.drop(first);
    expect(board.find(SESSION, brand('batch-1'), brand('a'))).toBe(second);
  });

  test('that is dropped leaves those that wait for it waiting, until somebody says that it has settled', () => {
    const board = newCallBoard(10);
    const call = take(board, effect('a'));
    take(board, effect('b', { after: [brand('a')] }));
    expect(board.watched()).toEqual([]);
    board.drop(call);
    expect(board.startNext()).toBeNull();
    expect(board.watched()).toEqual([SESSION]);
    board.observe(SESSION, [effect('b')]);
    expect(board.startNext()?.effect.call_id).toBe('b');
  });
});

describe('a batch', () => {
  test('is ended by the settlements of all that is open here, and by no fewer', () => {
    const board = newCallBoard(10);
    take(board, effect('a'));
    take(board, effect('b'));
    expect(board.endedBy(SESSION, [settled('a')])).toEqual([]);
    expect(board.endedBy(SESSION, [])).toEqual([]);
    expect(board.endedBy(SESSION, [settled('a'), settled('b')])).toHaveLength(1);
  });

  test('of which others hold calls is left to the engine once that is known', () => {
    const board = newCallBoard(10);
    const { batch } = take(board, effect('a'));
    batch.shared = true;
    Object.assign(batch, { plan: { planned_calls: [{}, {}] } });
    expect(board.endedBy(SESSION, [settled('a')])).toEqual([]);
    batch.settled.add(brand('b'));
    expect(board.endedBy(SESSION, [settled('a')])).toHaveLength(1);
  });
});
