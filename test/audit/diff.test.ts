// diffJson: no difference exactly when the canonical texts are equal, exact paths, a bounded list.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Json, type JsonObject, canonicalText, isJson } from '../../schemas/index.ts';
import { type JsonDifference, diffJson } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';

const RUNS = { numRuns: roundsOf(250, 5_000) };
const ALL = 1_000_000;

/** Small values over few keys, so two values often share parts. Some keys need escapes in a JSON pointer. */
const KEYS = ['a', 'b', '', '/', '~', '~1', '0', 'constructor', '\u{1f600}'];
const { value: json } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, false, 0, 1, -1.5, '', 'x', '0'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie('value'), { maxKeys: 4 }).map((entries) => ({ ...entries })),
  ),
}));

const pair = fc.oneof(
  fc.tuple(json, json),
  json.map((value): [Json, Json] => [value, clone(value)]),
);

const clone = (value: Json): Json => JSON.parse(JSON.stringify(value)) as Json;

/** The value at a path (RFC 6901); undefined when absent. */
function at(value: Json, path: string): Json | undefined {
  const segments = path.split('/').slice(1);
  let here: Json | undefined = value;
  for (const segment of segments) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, key)) return undefined;
    here = (here as JsonObject)[key];
  }
  return here;
}

const same = (a: Json | undefined, b: Json | undefined): boolean =>
  a === undefined || b === undefined ? a === b : canonicalText(a) === canonicalText(b);

describe('diffJson', () => {
  test('finds no difference exactly when the canonical texts are equal', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const { differences, rest } = diffJson(a, b, ALL);
        expect(differences.length + rest === 0).toBe(canonicalText(a) === canonicalText(b));
      }),
      RUNS,
    );
  });

  test('names paths at which the values are as reported, and unequal', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        for (const difference of diffJson(a, b, ALL).differences) {
          expect(same(at(a, difference.path), difference.a)).toBe(true);
          expect(same(at(b, difference.path), difference.b)).toBe(true);
          expect(same(difference.a, difference.b)).toBe(false);
        }
      }),
      RUNS,
    );
  });

  test('descends as deep as it can, and names each path once', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const { differences } = diffJson(a, b, ALL);
        expect(new Set(differences.map(({ path }) => path)).size).toBe(differences.length);
        for (const { a: left, b: right } of differences) {
          const bothArrays = Array.isArray(left) && Array.isArray(right);
          expect(bothArrays || (isObject(left) && isObject(right))).toBe(false);
        }
      }),
      RUNS,
    );
  });

  test('allows b to be rebuilt from a and the differences', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const { differences } = diffJson(a, b, ALL);
        expect(canonicalText(patched(a, differences))).toBe(canonicalText(b));
      }),
      RUNS,
    );
  });

  test('keeps a bounded number of differences, counts the others, and does not change what it keeps', () => {
    fc.assert(
      fc.property(pair, fc.nat({ max: 5 }), ([a, b], max) => {
        const all = diffJson(a, b, ALL).differences;
        expect(diffJson(a, b, max)).toEqual({
          differences: all.slice(0, max),
          rest: Math.max(0, all.length - max),
        });
      }),
      RUNS,
    );
  });

  test('is symmetric, with the sides swapped', () => {
    fc.assert(
      fc.property(pair, ([a, b]) => {
        const back = diffJson(b, a, ALL).differences.map(({ path, ...sides }) => ({
          path,
          ...('b' in sides ? { a: sides.b } : {}),
          ...('a' in sides ? { b: sides.a } : {}),
        }));
        expect(back).toEqual(diffJson(a, b, ALL).differences);
      }),
      RUNS,
    );
  });

  test('neither keeps nor changes its arguments', () => {
    const [a, b] = [Object.freeze({ list: Object.freeze([1, 2]) }), Object.freeze({ list: Object.freeze([1, 3]) })];
    expect(diffJson(a, b, 1).differences).toEqual([{ path: '/list/1', a: 2, b: 3 }]);
  });
});

test.each<[string, Json, Json, readonly JsonDifference[]]>([
  ['a whole value', 1, '1', [{ path: '', a: 1, b: '1' }]],
  ['a key with a slash and a tilde', { 'a/~b': 1 }, { 'a/~b': 2 }, [{ path: '/a~1~0b', a: 1, b: 2 }]],
  ['the empty key', { '': 1 }, {}, [{ path: '/', a: 1 }]],
  ['a key that every object inherits', {}, { constructor: 1 }, [{ path: '/constructor', b: 1 }]],
  ['null as a value', { a: null }, {}, [{ path: '/a', a: null }]],
  ['an empty list and an empty object', { a: [] }, { a: {} }, [{ path: '/a', a: [], b: {} }]],
  [
    'a longer list',
    [1],
    [1, 2, [3]],
    [
      { path: '/1', b: 2 },
      { path: '/2', b: [3] },
    ],
  ],
])('diffJson reports %s', (_, a, b, differences) => {
  expect(isJson(a) && isJson(b)).toBe(true);
  expect(diffJson(a, b, ALL)).toEqual({ differences, rest: 0 });
});

test('an ignored path is left out with everything below it', () => {
  const ignore = (path: string): boolean => path === '/a';
  expect(diffJson({ a: { x: 1 }, b: 1 }, { a: { x: 2 }, b: 2 }, ALL, ignore).differences).toEqual([
    { path: '/b', a: 1, b: 2 },
  ]);
});

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Applies the differences, from the last to the first, so no index moves. */
function patched(value: Json, differences: readonly JsonDifference[]): Json {
  let root = clone(value);
  for (const { path, b } of differences.toReversed()) {
    if (path === '') {
      root = b as Json;
      continue;
    }
    const cut = path.lastIndexOf('/');
    const parent = at(root, path.slice(0, cut)) as Record<string, Json>;
    const key = path
      .slice(cut + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~');
    if (b !== undefined) parent[key] = b;
    else if (Array.isArray(parent)) parent.splice(Number(key), 1);
    else delete parent[key];
  }
  return root;
}
