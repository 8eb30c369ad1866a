import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJson } from '../../../schemas/json.ts';
import { JSON_DEPTH_MAX, OBSERVED_BYTES_MAX } from '../../../schemas/limits.ts';
import { nested } from '../../support/engine/inputs.ts';
import { toObservedCalls } from '../../../bridge/generate/observed-calls.ts';
import { ProviderError, type ReplyCall } from '../../../bridge/providers/provider.ts';
import { ToolCallObserved } from '../../../schemas/tool-call.ts';
import { runSteps } from '../../../src/core/steps.ts';

describe('ids', () => {
  test('are those of the provider when valid and unique, else generated', () => {
    const ids = ['ok', undefined, 'ok', '', 'two words', '__proto__', 'x'.repeat(200), 'call-3-1'];
    const observed = runSteps(
      toObservedCalls(
        3,
        ids.map((id) => ({ name: 'read', ...(id === undefined ? {} : { id }) })),
      ),
    );
    expect(observed.map(({ call_id }) => call_id)).toEqual([
      'ok',
      'call-3-1~',
      'call-3-2',
      'call-3-3',
      'call-3-4',
      'call-3-5',
      'call-3-6',
      'call-3-1',
    ]);
    expect(observed.map(({ provider_call_id }) => provider_call_id?.slice(0, 9))).toEqual([
      undefined,
      undefined,
      'ok',
      '',
      'two words',
      '__proto__',
      'xxxxxxxxx',
      undefined,
    ]);
  });
});

describe('arguments', () => {
  test('that leave no room for the levels of a report become text, so that the report is accepted', () => {
    for (let depth = 1; depth <= JSON_DEPTH_MAX + 2; depth += 1) {
      const args = nested(depth);
      const calls = runSteps(toObservedCalls(1, [{ name: 'read', arguments: args }]));
      expect(isJson({ owner: 'a', events: [{ kind: 'ToolCallsObserved', calls }] })).toBe(true);
      const fits = depth <= JSON_DEPTH_MAX - 5;
      expect(calls[0]).toMatchObject(fits ? { arguments: args } : { arguments_text: JSON.stringify(args) });
    }
  });

  test.each<[string, Partial<ReplyCall>, object]>([
    ['text stays as written', { arguments_text: ' {"a": 1, "a": 2} ' }, { arguments_text: ' {"a": 1, "a": 2} ' }],
    [
      'text that is not well-formed is made well-formed',
      { arguments_text: '"\ud800"' },
      { arguments_text: '"\ufffd"' },
    ],
    ['an object stays an object', { arguments: { a: 1 } }, { arguments: { a: 1 } }],
    ['absent arguments become an empty object', {}, { arguments: {} }],
    ['a list becomes text', { arguments: [1] }, { arguments_text: '[1]' }],
    ['null becomes text', { arguments: null }, { arguments_text: 'null' }],
    [
      'an object outside the value domain becomes text',
      { arguments: { a: '\ud800' } },
      { arguments_text: '{"a":"\\ud800"}' },
    ],
  ])('%s', (_, given, expected) => {
    expect(runSteps(toObservedCalls(1, [{ id: 'a', name: 'x', ...given }]))[0]).toEqual({
      call_id: 'a',
      tool_name: 'x',
      ...expected,
    });
  });

  test('above the limit: the largest are cut, which makes them invalid JSON; the others stay', () => {
    const big = JSON.stringify({ text: 'y'.repeat(900_000) });
    const observed = runSteps(
      toObservedCalls(1, [
        { id: 'a', name: 'x', arguments_text: big },
        { id: 'b', name: 'x', arguments: { text: 'z'.repeat(600_000) } },
        { id: 'c', name: 'x', arguments: { small: true } },
      ]),
    );
    expect(Buffer.byteLength(JSON.stringify(observed))).toBeLessThanOrEqual(OBSERVED_BYTES_MAX + 10);
    expect(observed[0]?.arguments_text).toMatch(/^\{"text":"y+… \(cut: the arguments are too long, 900011 characters/);
    expect(observed[1]?.arguments).toBeDefined();
    expect(observed[2]?.arguments).toEqual({ small: true });
  });

  test('more calls than a batch may hold are a provider error', () => {
    const calls = Array.from({ length: 10_001 }, () => ({ name: 'x' }));
    expect(() => runSteps(toObservedCalls(1, calls))).toThrow(ProviderError);
  });
});

test('whatever a model sends, every call can be recorded under a unique id', () => {
  const text = fc.string({ unit: 'binary' });
  const anyCall = fc.record(
    {
      id: fc.oneof(text, fc.constantFrom('a', 'b', 'call-7-0', 'call-7-1')),
      name: fc.string({ unit: 'binary', maxLength: 300 }),
      arguments_text: text,
      arguments: fc.jsonValue() as fc.Arbitrary<never>,
    },
    { requiredKeys: ['name'] },
  );
  fc.assert(
    fc.property(fc.array(anyCall, { maxLength: 8 }), (calls) => {
      const observed = runSteps(toObservedCalls(7, calls));
      expect(observed).toHaveLength(calls.length);
      expect(new Set(observed.map(({ call_id }) => call_id)).size).toBe(calls.length);
      expect(observed.filter((one) => !ToolCallObserved.is(one))).toEqual([]);
    }),
  );
});
