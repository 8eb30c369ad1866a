import * as fc from 'fast-check';
import { type Either, isLeft, isRight, map } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { BODY_BYTES_MAX, JSON_DEPTH_MAX } from '../../schemas/limits.ts';
import { checkJson } from '../../schemas/json.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { sealJson } from '../../schemas/json/sealed.ts';
import { wireText } from '../../src/client/wire-text.ts';
import { copyRequest } from '../../src/engine/copy-request.ts';
import { anyValue } from '../support/any-value.ts';

/** The request as it would arrive over the wire. */
const reference = (request: unknown): Either<Rejection, unknown> =>
  map(({ text }: { text: string }): unknown => JSON.parse(text))(wireText(request));

const copied = (request: unknown): Either<Rejection, unknown> =>
  map(({ value }: { value: unknown }) => value)(copyRequest(request));

describe('a copy of a request', () => {
  test('equals what would arrive over the wire, or is refused with the same message', () => {
    fc.assert(
      fc.property(fc.oneof(anyValue(), fc.jsonValue()), (request) => {
        expect(copied(request)).toEqual(reference(request));
      }),
      { numRuns: 3_000 },
    );
  });

  test('shares no object with the original', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (request) => {
        const before = JSON.stringify(request);
        const copy = copied(request);
        if (isRight(copy)) spoil(copy.right);
        expect(JSON.stringify(request)).toBe(before);
      }),
    );
  });

  test('contains sealed values by reference, and is otherwise the same', () => {
    const inDomain = (value: unknown): boolean => isRight(checkJson(value));
    const small = fc.jsonValue().filter(inDomain);
    const large = fc.oneof(fc.dictionary(fc.string(), small), fc.array(small)).filter(inDomain);
    fc.assert(
      fc.property(large, small, (value, beside) => {
        const sealed = sealJson(value);
        const copy = copied({ beside, held: [sealed] });
        expect(copy).toEqual(reference({ beside, held: [value] }));
        expect(isRight(copy) && (copy.right as { readonly held: readonly unknown[] }).held[0]).toBe(sealed);
        const before = JSON.stringify(sealed);
        if (before.length > 2) expect(() => spoil(sealed)).toThrow(TypeError);
        expect(JSON.stringify(sealed)).toBe(before);
      }),
      { examples: [[{ a: { b: [1] } }, null]] },
    );
  });

  test('is accepted up to the limits of depth and size, and refused beyond them', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    for (const depth of [JSON_DEPTH_MAX - 1, JSON_DEPTH_MAX, JSON_DEPTH_MAX + 1]) {
      expect(copied(nested(depth))).toEqual(reference(nested(depth)));
      const half = depth >> 1;
      let sealed: unknown = sealJson(nested(half) as object);
      for (let level = half; level < depth; level += 1) sealed = [sealed];
      expect(copied(sealed)).toEqual(reference(nested(depth)));
    }
    for (const size of [BODY_BYTES_MAX - 2, BODY_BYTES_MAX - 1]) {
      const request = 'x'.repeat(size);
      expect(copied(request)).toEqual(reference(request));
    }
    const many = Array.from({ length: 210_000 }, () => 'ä');
    expect(isLeft(copied(many))).toBe(true);
    expect(copied(many)).toEqual(reference(many));
    expect(copied({ sealed: sealJson(many) })).toEqual(reference({ sealed: many }));
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
