import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SessionId } from '../../schemas/ids.ts';
import {
  digestInKey,
  eventKey,
  genesisKey,
  headKey,
  packageKey,
  placeOfCommit,
  sessionIn,
  sessionOfKey,
  streamRange,
  commitKey,
  commitRange,
} from '../../src/journal/keys.ts';
import { decodeNumber, encodeNumber } from '../../src/journal/stored-numbers.ts';
import { eventId, position, samplePackage } from '../support/journal/samples.ts';

const anySession = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,5}$/).filter(SessionId.is);
const anyNumber = fc.oneof(
  fc.nat(600),
  fc.maxSafeNat(),
  fc.nat(52).map((power) => 2 ** power),
  fc.nat(52).map((power) => 2 ** (power + 1) - 1),
);
const anyPosition = anyNumber.map(position);

const isWithin = (key: Uint8Array, { gte, lt }: { readonly gte: Uint8Array; readonly lt: Uint8Array }): boolean =>
  Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0;

describe('journal keys', () => {
  test('sort by session and then by position', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anySession, anyPosition, anySession, anyPosition, (one, i, two, j) => {
        const order = Buffer.compare(commitKey(one, i), commitKey(two, j));
        const expected =
          one === two ? Math.sign(i - j) : Buffer.compare(Buffer.from(`${one}\0`), Buffer.from(`${two}\0`));
        expect(order).toBe(expected);
      }),
    );
  });

  test('lie only in the range of their own session', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(
        anySession,
        anySession,
        fc.tuple(anyPosition, anyPosition, anyPosition),
        (one, two, [from, to, at]) => {
          const key = commitKey(two, at);
          expect(isWithin(key, commitRange(one, from, to))).toBe(one === two && from <= at && at < to);
          expect(isWithin(key, streamRange(one))).toBe(one === two);
        },
      ),
    );
  });

  test('are distinct, and decode only as their own kind', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anySession, anyPosition, (session, first) => {
        expect(placeOfCommit(commitKey(session, first))).toEqual({ session, first });
        expect(sessionOfKey(headKey(session))).toBe(session);
        const keys = [genesisKey(session), headKey(session), commitKey(session, first)];
        expect(keys.map(sessionIn)).toEqual([session, session, session]);
        const index = eventKey(session, eventId('e'));
        expect(sessionIn(index)).toBeNull();
        const named = packageKey(samplePackage.digest);
        expect(digestInKey(named)).toBe(samplePackage.digest);
        for (const key of [...keys, index, named.subarray(1), Buffer.concat([named, Buffer.of(0)])]) {
          expect(digestInKey(key)).toBeNull();
        }
        expect(sessionIn(named)).toBeNull();
        expect(new Set([...keys, index, named].map((key) => Buffer.from(key).toString('hex'))).size).toBe(5);
        for (const key of [...keys.slice(0, 2), index, named]) expect(placeOfCommit(key)).toBeNull();
      }),
    );
  });

  test('differ for the event ids of two sessions', () => {
    expect(eventKey('a' as SessionId, eventId('be'))).not.toEqual(eventKey('ab' as SessionId, eventId('e')));
    expect(eventKey('a' as SessionId, eventId('e'))).toHaveLength(9);
  });
});

describe('stored numbers', () => {
  test('decode to the same number, sort in byte order, and have only one accepted form', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anyNumber, anyNumber, (one, two) => {
        expect(decodeNumber(encodeNumber(one))).toBe(one);
        expect(Math.sign(Buffer.compare(encodeNumber(one), encodeNumber(two)))).toBe(Math.sign(one - two));
        expect(decodeNumber(Buffer.concat([encodeNumber(one), Buffer.of(0)]))).toBeNull();
      }),
    );
    const others = ['', 'f0', 'f1', 'f1ef', 'f200f1', 'f2', 'f8ffffffffffffffff', 'f7ffffffffffffff', 'ff'];
    expect(others.map((hex) => decodeNumber(Buffer.from(hex, 'hex')))).toEqual(others.map(() => null));
  });

  test('take one byte up to 239 and eight at most', () => {
    const sizes = [0, 239, 240, 255, 65_535, 65_536, Number.MAX_SAFE_INTEGER].map((n) => encodeNumber(n).length);
    expect(sizes).toEqual([1, 1, 2, 2, 3, 4, 8]);
  });
});
