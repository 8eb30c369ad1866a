// The calls that a batch could not have been faster without.
import { expect, test } from 'vitest';
import { criticalPath } from '../../inspector/folding/plan-graph.ts';
import { type CallId, brand } from '../../schemas/ids.ts';

const id = (name: string): CallId => brand<'CallId'>(name);
const ran = (name: string, from_ms: number, to_ms: number | null) => ({
  call_id: id(name),
  spans: [
    { what: 'queue', from_ms: 0, to_ms: from_ms },
    { what: 'run', from_ms, to_ms },
  ] as const,
});

test('goes from the call that ended last back through those it waited for that ended last', () => {
  const calls = [ran('a', 0, 30), ran('b', 0, 50), ran('c', 50, 60), ran('d', 30, 55)];
  const after = { c: [id('a'), id('b')], d: [id('a')] };
  expect(criticalPath(calls, after)).toEqual({ critical: ['b', 'c'], critical_ms: 60 });
});

test('leaves out calls that still run, and those that never ran', () => {
  const waiting = { call_id: id('w'), spans: [{ what: 'queue', from_ms: 0, to_ms: 90 }] as const };
  expect(criticalPath([ran('a', 10, 30), ran('b', 0, null), waiting], { b: [], w: [id('a')] })).toEqual({
    critical: ['a'],
    critical_ms: 20,
  });
  expect(criticalPath([waiting], {})).toEqual({ critical: [], critical_ms: 0 });
});
