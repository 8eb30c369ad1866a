// The value domain: the code and path of every refusal, and the bytes of accepted values.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isJson } from '../../schemas/json.ts';
import { copyRequest } from '../../src/engine/copy-request.ts';
import { JSON_DEPTH_MAX } from '../../schemas/limits.ts';
import {
  type Json,
  canonicalBytes,
  canonicalText,
  checkJson,
  digest,
  parseJson,
  sortedKeys,
} from '../../schemas/index.ts';
import { sha256Hex as nodeSha256 } from '../../schemas/sha256/node.ts';
import { sha256Hex as nobleSha256 } from '../../schemas/sha256/noble.ts';
import { referenceCanonical } from '../support/reference-digest.ts';
import { referenceParseJson } from '../support/reference-json.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
const holed: unknown[] = [1];
holed[2] = 3;

describe('values from a program', () => {
  test.each([
    ['NaN', { a: [Number.NaN] }, '/a/0'],
    ['infinity', [Infinity], '/0'],
    ['negative zero', { x: -0 }, '/x'],
    ['a lone surrogate', { s: '\ud800' }, '/s'],
    ['undefined', { u: undefined }, '/u'],
    ['undefined in a list', [undefined], '/0'],
    ['a hole', holed, '/1'],
    ['a bigint', { n: 1n }, '/n'],
    ['a function', { f: () => 1 }, '/f'],
    ['a symbol', { s: Symbol('x') }, '/s'],
    ['a date', { d: new Date(0) }, '/d'],
    ['a map', [new Map()], '/0'],
    ['a typed array', { b: new Uint8Array(1) }, '/b'],
    ['the key __proto__', JSON.parse('{"a":{"__proto__":1}}') as unknown, '/a/__proto__'],
    ['a path with / and ~', { 'a/b': { 'c~d': Number.NaN } }, '/a~1b/c~0d'],
  ])('%s is refused with its path', (_, value, path) => {
    expect(checkJson(value)).toMatchObject({ _tag: 'Left', left: { code: 'invalid_value', path } });
    expect(() => digest(value)).toThrow(RangeError);
    expect(() => canonicalBytes(value)).toThrow(path);
  });

  test.each([
    ['a field', Object.assign([1], { extra: 1 })],
    ['a hole and a field', Object.assign(holed.slice(), { extra: 1 })],
    ['a field with a symbol as key', Object.assign([1], { [Symbol('x')]: 1 })],
    ['a field that is not enumerable', Object.defineProperty([1], 'toJSON', { value: () => 'other' })],
    ['an iterator of its own', Object.assign([1], { [Symbol.iterator]: () => [2].values() })],
    ['a class of its own', new (class List extends Array<number> {})(1, 2)],
  ])('a list with %s is refused, also inside a request', (_name, list) => {
    expect(checkJson(list)).toMatchObject({ left: { code: 'invalid_value' } });
    expect(isJson(list)).toBe(false);
    expect(copyRequest({ events: list })).toMatchObject({ left: { code: 'invalid_value' } });
  });

  test('an object with a field that is not enumerable is refused', () => {
    const object = Object.defineProperty({ a: 1 }, 'toJSON', { value: () => 'other' });
    expect(checkJson([object])).toMatchObject({ left: { code: 'invalid_value', path: '/0' } });
    expect(copyRequest(object)).toMatchObject({ left: { code: 'invalid_value' } });
  });

  test('toJSON is a field like any other and is never called', () => {
    expect(checkJson({ toJSON: () => 1 })).toMatchObject({ _tag: 'Left', left: { path: '/toJSON' } });
    expect(canonicalText({ toJSON: 'data' })).toBe('{"toJSON":"data"}');
  });

  test(`depth ${JSON_DEPTH_MAX} is accepted, one more is refused`, () => {
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
    expect(checkJson(deep(JSON_DEPTH_MAX))._tag).toBe('Right');
    expect(checkJson(deep(JSON_DEPTH_MAX + 1))).toMatchObject({ _tag: 'Left', left: { code: 'too_deep' } });
  });
});

describe('text', () => {
  test.each([
    ['{"a":1,"a":2}', 'duplicate_key'],
    ['{"a":1,"\\u0061":2}', 'duplicate_key'],
    ['{"x":{"k":[],"k" :1}}', 'duplicate_key'],
    [nested(JSON_DEPTH_MAX + 1), 'too_deep'],
    ['[-0]', 'invalid_value'],
    ['["\\ud800"]', 'invalid_value'],
    ['{"__proto__":1}', 'invalid_value'],
    ['{', 'malformed_json'],
    ['', 'malformed_json'],
    ['[1,]', 'malformed_json'],
    ['NaN', 'malformed_json'],
  ])('%s is %s', (text, code) => {
    expect(parseJson(text)).toMatchObject({ _tag: 'Left', left: { code } });
  });

  test('equal keys in different objects or inside strings are not duplicates', () => {
    expect(parseJson('[{"a":1},{"a":{"a":"{\\"a\\":1,\\"a\\":2}"}}]')._tag).toBe('Right');
  });

  test('text that is too long or too deep is refused before it is parsed', () => {
    expect(parseJson('[1]', 2)).toMatchObject({ _tag: 'Left', left: { code: 'too_large' } });
    expect(parseJson('['.repeat(10_000_000), 20_000_000)).toMatchObject({ _tag: 'Left', left: { code: 'too_deep' } });
  });

  test('every JSON value is read back from its text', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        fc.pre(checkJson(value)._tag === 'Right');
        const read = parseJson(canonicalText(value as Json));
        expect(read).toEqual({ _tag: 'Right', right: value });
      }),
    );
  });
});

describe('canonical text (RFC 8785)', () => {
  test.each([
    [{ b: 1, a: 2 }, '{"a":2,"b":1}'],
    [{ '10': 1, '9': 2, '01': 3 }, '{"01":3,"10":1,"9":2}'],
    // Section 3.2.3: keys are sorted by UTF-16 code unit, so U+1F600 comes before U+FB33.
    [
      { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 },
      '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
    ],
    [[1e21, 1e-7, 0.000001, 333333333.3333333, 4.5, 2e-3], '[1e+21,1e-7,0.000001,333333333.3333333,4.5,0.002]'],
    ['\u20ac$\u000f\nA\'B"\\/', '"€$\\u000f\\nA\'B\\"\\\\/"'],
    [[true, null, false, [], {}], '[true,null,false,[],{}]'],
  ] as readonly (readonly [Json, string])[])('%j', (value, text) => {
    expect(canonicalText(value)).toBe(text);
  });

  test('sorts the keys of small and large objects by code unit', () => {
    const keys = fc.uniqueArray(fc.string({ unit: 'binary', maxLength: 6 }), { maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(keys, (names) => {
        const value = Object.fromEntries(names.map((name) => [name, 0]));
        expect(sortedKeys(value)).toEqual(Object.keys(value).sort());
      }),
      { numRuns: 1_000 },
    );
  });

  test('does not depend on the order of keys, and equals that of an independent encoder', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        fc.pre(checkJson(value)._tag === 'Right');
        const text = canonicalText(value as Json);
        expect(text).toBe(referenceCanonical(value as Json));
        expect(canonicalText(JSON.parse(text) as Json)).toBe(text);
      }),
    );
  });
});

test('both SHA-256 implementations agree, on text and on bytes', () => {
  expect(nodeSha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
  const data = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 300 }), fc.uint8Array({ maxLength: 300 }));
  fc.assert(fc.property(data, (value) => nobleSha256(value) === nodeSha256(value)));
});

test('parseJson agrees with a simple reference reader on valid and invalid text', () => {
  const pieces = String.raw`{ } [ ] , : " \ "a" "a": "\u0061": "b": "__proto__": -0 1e999 0 1 null "\ud800" "\\" "\""
    {"a":1,"a":2} {"a":{"b":[1,{}]},"c":""} [[[[ ]]]]`.split(/\s+/);
  const piece = fc.constantFrom(...pieces, ' ');
  const noise = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''));
  const edited = fc.tuple(fc.jsonValue({ maxDepth: 5 }), fc.nat(), fc.option(piece)).map(([value, at, inserted]) => {
    const text = JSON.stringify(value);
    const place = at % (text.length + 1);
    return inserted === null ? text : text.slice(0, place) + inserted + text.slice(place);
  });
  fc.assert(
    fc.property(fc.oneof(noise, edited), (text) => {
      const read = parseJson(text);
      const code = read._tag === 'Left' ? { ...read, left: read.left.code } : read;
      expect(code).toEqual(referenceParseJson(text));
    }),
    { numRuns: 3_000 },
  );
  for (const text of [`${'['.repeat(64)}${']'.repeat(64)}`, `${'['.repeat(65)}${']'.repeat(65)}`]) {
    expect(parseJson(text)._tag).toBe(referenceParseJson(text)._tag);
  }
});
