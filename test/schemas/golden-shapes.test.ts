// Stored and sent shapes only widen: what a shape of the golden file accepted is accepted for ever, so that no record
// becomes unreadable. `npm run golden:shapes` writes the file anew; a commit that changes it says why.
import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Json, JsonObject } from '../../schemas/json.ts';
import { compareShapes } from '../support/shapes/compare-shapes.ts';
import { type Shapes, storedShapes } from '../support/shapes/stored-shapes.ts';

const GOLDEN = new URL('../golden/shapes.json', import.meta.url);

const now = storedShapes();
if (process.env['REFOLD_WRITE_GOLDEN'] === '1') {
  writeFileSync(GOLDEN, `${JSON.stringify(Object.fromEntries(now), null, 1)}\n`);
}
const golden: Shapes = new Map(Object.entries(JSON.parse(readFileSync(GOLDEN, 'utf8')) as Record<string, JsonObject>));

test('every golden shape still accepts what it accepted', () => {
  const { breaking, widening } = compareShapes(golden, now);
  for (const { at, what } of widening) process.stdout.write(`${at}: ${what}; record it: npm run golden:shapes\n`);
  expect(breaking).toEqual([]);
});

/** The golden shapes, with one of them changed. */
function changed(name: string, change: (shape: Open) => void): Shapes {
  const copy = structuredClone(Object.fromEntries(golden)) as Record<string, Open>;
  change(copy[name] as Open);
  return new Map(Object.entries(copy) as [string, JsonObject][]);
}

type Open = Record<string, never> & { [key: string]: never };

const at = (shape: Open, ...path: readonly string[]): Record<string, Json> =>
  path.reduce((value: unknown, key) => (value as Record<string, unknown>)[key], shape) as Record<string, Json>;

describe('a change that refuses what was accepted is found', () => {
  test.each<[string, string, (shape: Open) => void]>([
    [
      'a narrower text',
      'RunFailed/message/maxLength',
      (shape) => (at(shape, 'properties', 'message')['maxLength'] = 200),
    ],
    [
      'a lower maximum',
      'Usage/input_tokens/maximum',
      (shape) => (at(shape, 'properties', 'input_tokens')['maximum'] = 9),
    ],
    ['a higher minimum', 'Position/minimum', (shape) => (at(shape)['minimum'] = 1)],
    ['a bound where none was', 'CallId/minItems', (shape) => (at(shape)['minItems'] = 1)],
    ['another pattern', 'RunId/pattern', (shape) => (at(shape)['pattern'] = '^x$')],
    ['another type', 'Epoch/type', (shape) => (at(shape)['type'] = 'string')],
    [
      'a shorter list',
      'ToolCallsObserved/calls/maxItems',
      (shape) => (at(shape, 'properties', 'calls')['maxItems'] = 1),
    ],
    ['a value of an enumeration that is gone', 'CallOutcome/enum', (shape) => (at(shape)['enum'] = ['succeeded'])],
    ['an alternative that is gone', 'Content/anyOf', (shape) => (at(shape)['anyOf'] = [{ $ref: 'BlobText' }])],
    ['a field that is gone', 'RunCancelled/reason', (shape) => delete at(shape, 'properties')['reason']],
    [
      'a field that is required now',
      'RunCancelled/reason',
      (shape) => (at(shape)['required'] = ['kind', 'v', 'event_id', 'at_ms', 'run_id', 'reason']),
    ],
    [
      'fields that are refused now',
      'ToolResult/additionalProperties',
      (shape) => (at(shape)['additionalProperties'] = false),
    ],
    [
      'a reference to another shape',
      'RunPaused/run_id/$ref',
      (shape) => (at(shape, 'properties', 'run_id')['$ref'] = 'CallId'),
    ],
  ])('%s', (_, where, change) => {
    const [name = ''] = where.split('/');
    expect(golden.has(name)).toBe(true);
    const { breaking } = compareShapes(golden, changed(name, change));
    expect(breaking.map((found) => found.at)).toContain(where);
  });

  test('a shape that is gone', () => {
    const without = new Map([...golden].filter(([name]) => name !== 'RunPaused'));
    expect(compareShapes(golden, without).breaking).toEqual([{ at: 'RunPaused', what: 'the shape was removed' }]);
  });
});

describe('a change that accepts more passes, and says what it means for EVENT_VERSION', () => {
  test.each<[string, string, (shape: Open) => void, RegExp]>([
    [
      'an optional field of a closed shape',
      'RunPaused/reason',
      (shape) => (at(shape, 'properties')['reason'] = { type: 'string' }),
      /EVENT_VERSION stays/,
    ],
    [
      'an optional field of an open shape',
      'ToolResult/cost',
      (shape) => (at(shape, 'properties')['cost'] = { type: 'integer' }),
      /EVENT_VERSION must rise/,
    ],
    [
      'a field that is optional now',
      'RunPaused/run_id',
      (shape) => (at(shape)['required'] = ['kind']),
      /optional now; EVENT_VERSION stays/,
    ],
    [
      'a closed shape that is open now',
      'RunPaused/additionalProperties',
      (shape) => (at(shape)['additionalProperties'] = {}),
      /EVENT_VERSION stays/,
    ],
    [
      'a bound that is dropped',
      'Usage/input_tokens/maximum',
      (shape) => delete at(shape, 'properties', 'input_tokens')['maximum'],
      /no bound; EVENT_VERSION stays/,
    ],
    [
      'a wider text',
      'RunFailed/message/maxLength',
      (shape) => (at(shape, 'properties', 'message')['maxLength'] = 9_999),
      /EVENT_VERSION stays/,
    ],
    [
      'a further value',
      'CallOutcome/enum',
      (shape) => (at(shape)['enum'] = [...(at(shape)['enum'] as Json[]), 'paused']),
      /EVENT_VERSION stays/,
    ],
    [
      'a further alternative',
      'Content/anyOf',
      (shape) => (at(shape)['anyOf'] = [...(at(shape)['anyOf'] as Json[]), { type: 'null' }]),
      /EVENT_VERSION stays/,
    ],
  ])('%s', (_, where, change, says) => {
    const [name = ''] = where.split('/');
    const { breaking, widening } = compareShapes(golden, changed(name, change));
    expect(breaking).toEqual([]);
    expect(widening.find((found) => found.at === where)?.what).toMatch(says);
    const silent = widening.filter(({ what }) => !/EVENT_VERSION (stays|must rise): an older release/.test(what));
    expect(silent).toEqual([]);
  });

  test('a new shape', () => {
    const { breaking, widening } = compareShapes(new Map([...golden].filter(([name]) => name !== 'RunPaused')), golden);
    expect(breaking).toEqual([]);
    expect(widening).toEqual([{ at: 'RunPaused', what: expect.stringMatching(/a new shape; EVENT_VERSION stays/) }]);
  });
});
