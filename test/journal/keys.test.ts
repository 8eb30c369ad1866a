import { Buffer } from 'node:buffer';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SessionId } from '../../schemas/ids.ts';
import {
  eventIdKey,
  genesisKey,
  headKey,
  positionOfKey,
  recordKey,
  recordRange,
  sessionOfKey,
} from '../../src/journal/keys.ts';
import { eventId, position } from '../support/journal/samples.ts';

const anySession = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,5}$/).filter(SessionId.is);
const anyPosition = fc.maxSafeNat().map(position);

describe('journal keys', () => {
  it('sort by session and then by position', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anySession, anyPosition, anySession, anyPosition, (one, i, two, j) => {
        const order = Buffer.compare(recordKey(one, i), recordKey(two, j));
        const expected =
          one === two ? Math.sign(i - j) : Buffer.compare(Buffer.from(`${one}\0`), Buffer.from(`${two}\0`));
        expect(order).toBe(expected);
      }),
    );
  });

  it('lie in the range of their own session only', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anySession, anyPosition, anySession, anyPosition, (one, i, two, j) => {
        const { gte, lt } = recordRange(one, i);
        const key = recordKey(two, j);
        const inside = Buffer.compare(key, gte) >= 0 && Buffer.compare(key, lt) < 0;
        expect(inside).toBe(one === two && j >= i);
      }),
    );
  });

  it('are told apart, and read back only as what they are', () => {
    expect.hasAssertions();
    fc.assert(
      fc.property(anySession, anyPosition, (session, at) => {
        expect(positionOfKey(session, recordKey(session, at))).toBe(at);
        expect(sessionOfKey(headKey(session))).toBe(session);
        const keys = [genesisKey(session), headKey(session), eventIdKey(session, eventId('e')), recordKey(session, at)];
        expect(new Set(keys.map((key) => Buffer.from(key).toString('hex'))).size).toBe(4);
        for (const key of keys.slice(0, 3)) expect(positionOfKey(session, key)).toBeNull();
      }),
    );
  });

  it('give no position beyond the safe integers', () => {
    const session = 's' as SessionId;
    const key = Buffer.concat([Buffer.from('rs\0', 'latin1'), Buffer.alloc(8, 0xff)]);
    expect(positionOfKey(session, key)).toBeNull();
    expect(positionOfKey(session, recordKey(session, position(Number.MAX_SAFE_INTEGER)))).toBe(Number.MAX_SAFE_INTEGER);
  });
});
