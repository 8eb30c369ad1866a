import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { wireIds } from '../../../../bridge/providers/api/wire-ids.ts';
import type { Message } from '../../../../bridge/providers/provider.ts';

const call = (id: string, provider_id?: string) => ({
  id,
  name: 'x',
  arguments: '{}',
  ...(provider_id === undefined ? {} : { provider_id }),
});
const result = (call_id: string): Message => ({ role: 'tool', call_id, name: 'x', text: '', is_error: false });

test('ids that fit stay; others are rewritten, and a repeated one gets a number', () => {
  const rule = { alphabet: /[A-Za-z0-9_-]/, max: 12 };
  const messages: readonly Message[] = [
    { role: 'assistant', text: '', calls: [call('call-1-0', 'functions.add:0'), call('b')] },
    result('b'),
    result('call-1-0'),
    { role: 'assistant', text: '', calls: [call('call-1-0', 'functions.add:0'), call('b')] },
    result('call-1-0'),
  ];
  expect(wireIds(messages, rule).map((m) => (m.role === 'assistant' ? m.calls.map(({ id }) => id) : m))).toEqual([
    ['functions_ad', 'b'],
    { ...result('b') },
    { ...result('functions_ad') },
    ['functions__2', 'b_2'],
    { ...result('functions__2') },
  ]);
});

const rules = fc.constantFrom(
  { alphabet: /[A-Za-z0-9_-]/, max: 64 },
  { alphabet: /[A-Za-z0-9]/, max: 9, min: 9 },
  { alphabet: /[\x21-\x7e]/, max: 40 },
);
const ids = fc.oneof(
  fc.constantFrom('', 'a', 'functions.add:0', 'call-1-0', '🙂'),
  fc.string({ unit: 'binary', maxLength: 80 }),
);
const turns = fc.array(fc.uniqueArray(ids, { maxLength: 5 }), { maxLength: 8 });

test('every id fits and occurs once, results follow their calls, and later turns change nothing', () => {
  fc.assert(
    fc.property(rules, turns, (rule, batches) => {
      const messages = batches.flatMap((batch): readonly Message[] => [
        { role: 'assistant', text: '', calls: batch.map((id) => call(id)) },
        ...batch.map(result),
      ]);
      const written = wireIds(messages, rule);
      const called = written
        .flatMap((message) => (message.role === 'assistant' ? message.calls : []))
        .map(({ id }) => id);
      const answered = written.flatMap((message) => (message.role === 'tool' ? [message.call_id] : []));
      expect(answered).toEqual(called);
      expect(new Set(called).size).toBe(called.length);
      for (const id of called) {
        expect(id.length).toBeLessThanOrEqual(rule.max);
        expect(id.length).toBeGreaterThanOrEqual(rule.min ?? 1);
        expect(id).toMatch(new RegExp(`^(?:${rule.alphabet.source})+$`));
      }
      expect(wireIds(messages.slice(0, 2), rule)).toEqual(written.slice(0, 2));
    }),
  );
});
