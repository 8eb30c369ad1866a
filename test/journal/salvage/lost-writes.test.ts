// Finds holes in logs by the numbers of the puts around them, in cases that a real directory does not produce on demand,
// such as two logs at once.
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { TRAIL_KEY, headKey } from '../../../src/journal/keys.ts';
import type { VerifiedFiles } from '../../../src/journal/level/verify-files.ts';
import type { LogFile } from '../../../src/journal/level/verify-logs.ts';
import { findLostWrites } from '../../../src/journal/salvage/lost-writes.ts';
import { encodeHead } from '../../../src/journal/stored-values.ts';
import { encodeTrail } from '../../../src/journal/commit-trail.ts';
import { idleHead, session, version } from '../../support/journal/samples.ts';

/** A commit of two puts: a head, and a trail that covers `back` puts and names one session. */
function commit(first: number, back: number, name: string): Buffer {
  const header = Buffer.alloc(12);
  header.writeBigUInt64LE(BigInt(first));
  header.writeUInt32LE(2, 8);
  const put = (key: Uint8Array, value: Uint8Array): Buffer =>
    Buffer.concat([Buffer.of(1, key.length), key, Buffer.of(value.length), value]);
  const trail = encodeTrail({ back, sessions: back === 0 ? new Map() : new Map([[session(name), version(first)]]) });
  const head = encodeHead({ version: version(1), ...idleHead });
  return Buffer.concat([header, put(TRAIL_KEY, trail), put(headKey(session('own')), head)]);
}

const log = (name: string, commits: readonly Buffer[], damaged: 'head' | 'tail' | 'none' = 'none'): LogFile => ({
  name,
  records: commits.map((bytes, index) => ({ at: 100 * (index + 1), bytes })),
  faults:
    damaged === 'none'
      ? []
      : [{ at: damaged === 'head' ? 0 : 900, end: damaged === 'head' ? 99 : 999, isReadable: false }],
  lostFrom: damaged === 'tail' ? 900 : null,
});

const files = (logs: readonly LogFile[], rest: Partial<VerifiedFiles> = {}): VerifiedFiles => ({
  tables: [],
  lost: [],
  logs,
  isOneMissing: false,
  closed: null,
  faults: [],
  torn: [],
  verified: new Map(),
  ...rest,
});

const whole = { isLossy: false, unnamed: false };
const named = { isLossy: true, unnamed: false };
const unnamed = { isLossy: true, unnamed: true };

describe('the numbers of the puts around a hole', () => {
  test('show that nothing is lost when no number is missing', () => {
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(3, 2, 'a')])]), 1)).toMatchObject(whole);
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a')]), log('2', [commit(3, 2, 'a')])]), 1)).toMatchObject(
      whole,
    );
    // The damaged part held no writes, or writes that are in tables too.
    expect(findLostWrites(files([log('2', [commit(3, 2, 'a')], 'head')]), 3)).toMatchObject(whole);
    expect(findLostWrites(files([]), 9)).toMatchObject(whole);
  });

  test('lead to the sessions that later commits name, within a log and from one log to the next', () => {
    const within = findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(5, 2, 'b')])]), 1);
    expect(within).toMatchObject(named);
    expect(within.named).toEqual(new Map([['b', 5]]));
    const between = files([log('1', [commit(1, 0, 'a')], 'tail'), log('2', [commit(5, 2, 'b')])]);
    expect(findLostWrites(between, 1)).toMatchObject(named);
    expect(findLostWrites(files([log('2', [commit(5, 4, 'b')], 'head')]), 1)).toMatchObject(named);
    // A hole may be covered by several later commits together.
    const later = [commit(1, 0, 'a'), commit(7, 2, 'b'), commit(9, 6, 'c')];
    expect(findLostWrites(files([log('1', later)]), 1)).toMatchObject(named);
  });

  test('leave lost writes unnamed when no trail covers the whole hole', () => {
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(7, 2, 'b')])]), 1)).toMatchObject(unnamed);
    expect(findLostWrites(files([log('2', [commit(5, 2, 'b')], 'head')]), 1)).toMatchObject(unnamed);
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a')], 'tail')]), 1)).toMatchObject(unnamed);
    expect(findLostWrites(files([], { isOneMissing: true }), 1)).toMatchObject(unnamed);
  });

  test('show no loss between a leftover log and the next one: the tables hold those writes', () => {
    const leftover = files([log('1', [commit(1, 0, 'a')]), log('7', [commit(99, 0, 'b')])]);
    expect(findLostWrites(leftover, 99)).toMatchObject(whole);
  });

  test('are known up to the last write after a clean stop', () => {
    const closed = { sizes: new Map([['1', 999]]), first: 1, end: 9, sessions: new Map([[session('z'), version(4)]]) };
    const cut = findLostWrites(files([log('1', [commit(1, 0, 'a')], 'tail')], { closed }), 1);
    expect(cut).toMatchObject(named);
    expect(cut.named).toEqual(new Map([['z', 4]]));
    expect(findLostWrites(files([], { closed, isOneMissing: true }), 1)).toMatchObject(named);
    expect(findLostWrites(files([], { closed, isOneMissing: true }), 9)).toMatchObject(whole);
    // The log was empty at the clean stop.
    const silent = { ...closed, first: 0, end: 0, sessions: new Map() };
    expect(findLostWrites(files([], { closed: silent, isOneMissing: true }), 1)).toMatchObject(unnamed);
  });
});
