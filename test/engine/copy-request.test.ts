import * as fc from 'fast-check';
import { type Either, isLeft, isRight, map } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { wireText } from '../../src/client/wire-text.ts';
import { copyRequest } from '../../src/engine/copy-request.ts';

/** As if it had come over the wire. */
const reference = (request: unknown): Either<Rejection, unknown> =>
  map(({ text }: { text: string }): unknown => JSON.parse(text))(wireText(request));

const copied = (request: unknown): Either<Rejection, unknown> =>
  map(({ value }: { value: unknown }) => value)(copyRequest(request));

const key = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', '1', 'constructor', '\uD800', 'a', 'b'));
const leaf = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, -0, NaN, Infinity, 1e21, 1n, Symbol('s'), () => 1, new Date(0)),
  fc.double(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('\uDC00', 'x'.repeat(70_000), '\u0000'.repeat(100_000)),
);
const strange = fc.constantFrom<unknown>(
  new Map(),
  // eslint-disable-next-line no-sparse-arrays
  [1, , 2],
  Object.assign([1], { extra: 1 }),
  { [Symbol('s')]: 1 },
  Object.assign(Object.create(null) as object, { fine: 1 }),
  Object.create({ inherited: 1 }),
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ maxDepth: 4, withCrossShrink: true }, leaf, tie('list'), tie('object'), strange),
  list: fc.array(tie('value'), { maxLength: 5 }),
  object: fc.array(fc.tuple(key, tie('value')), { maxLength: 5 }).map((entries) => {
    const made = {};
    for (const [name, item] of entries) {
      Object.defineProperty(made, name, { value: item, enumerable: true, configurable: true, writable: true });
    }
    return made;
  }),
}));

describe('a copy of a request', () => {
  test('is what would have come over the wire, or refused in the same words', () => {
    fc.assert(
      fc.property(fc.oneof(value, fc.jsonValue()), (request) => {
        expect(copied(request)).toEqual(reference(request));
      }),
      { numRuns: 3_000 },
    );
  });

  test('has nothing in common with what was given', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (request) => {
        const before = JSON.stringify(request);
        const copy = copied(request);
        if (isRight(copy)) spoil(copy.right);
        expect(JSON.stringify(request)).toBe(before);
      }),
    );
  });

  test('is as deep and as large as it may be, and no more', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    for (const depth of [JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1]) {
      expect(copied(nested(depth))).toEqual(reference(nested(depth)));
    }
    for (const size of [BODY_BYTES_MAX - 2, BODY_BYTES_MAX - 1]) {
      const request = 'x'.repeat(size);
      expect(copied(request)).toEqual(reference(request));
    }
    const many = Array.from({ length: 210_000 }, () => 'ä');
    expect(isLeft(copied(many))).toBe(true);
    expect(copied(many)).toEqual(reference(many));
  });
});

function spoil(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    spoil(fields[name]);
    fields[name] = 'spoiled';
  }
}
