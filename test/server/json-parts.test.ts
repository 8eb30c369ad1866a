// JSON in parts is the JSON of the whole value, and the event loop turns while a large answer is written.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonInParts, jsonParts } from '../../src/server/json-parts.ts';
import { neverPause } from '../../src/turns.ts';

const open = new AbortController().signal;

test('the parts of any value are its JSON', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 9 }), fc.constantFrom(undefined, 1), async (value, absent) => {
      const given = { value, absent, empty: {}, none: [] };
      expect(Array.from(jsonParts(given)).join('')).toBe(JSON.stringify(given));
      const response = await jsonInParts(jsonParts(given), { pause: neverPause, signal: open });
      expect(await response.text()).toBe(JSON.stringify(given));
    }),
  );
});

test('the parts of a conversation and of a batch are single entries and calls', () => {
  const calls = Array.from({ length: 1_000 }, (_, index) => ({
    call_id: `c-${index}`,
    arguments: { text: 'x'.repeat(100) },
  }));
  const state = { transcript: { open: [{ role: 'assistant', calls }] }, active_tool_batch: { plan: { calls }, calls } };
  const parts = Array.from(jsonParts({ state }));
  expect(parts.join('')).toBe(JSON.stringify({ state }));
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(1_000);
  expect(parts.length).toBeLessThan(7_000);
});

const PARTS = 100;
const PART = JSON.stringify('ä'.repeat(30_000));

/** Parts of a list, and how many were taken. */
function list(): { readonly parts: Iterable<string>; readonly taken: () => number } {
  let taken = 0;
  function* parts(): Generator<string> {
    for (; taken < PARTS; taken += 1) yield `${taken === 0 ? '[' : ','}${PART}`;
    yield ']';
  }
  return { parts: parts(), taken: () => taken };
}

test('a large answer pauses between its pieces, and is whole', async () => {
  let pauses = 0;
  const pause = (): Promise<void> => {
    pauses += 1;
    return Promise.resolve();
  };
  const response = await jsonInParts(list().parts, { pause, signal: open });
  expect(pauses).toBeGreaterThanOrEqual(PARTS / 4);
  expect(Number(response.headers.get('content-length'))).toBeGreaterThan(PARTS * 60_000);
  expect(await response.json()).toEqual(Array.from({ length: PARTS }, () => 'ä'.repeat(30_000)));
});

test('the rest of an answer that nobody reads is not written', async () => {
  const gone = new AbortController();
  const pause = (): Promise<void> => Promise.resolve(gone.abort());
  const { parts, taken } = list();
  await jsonInParts(parts, { pause, signal: gone.signal });
  expect(taken()).toBeLessThan(5);
});
