// Holes in logs told by the numbers of the puts around them: what no real directory shows on demand, two logs at once.
import { Buffer } from 'node:buffer';
import { describe, expect, test } from 'vitest';
import { TRAIL_KEY, headKey } from '../../../src/journal/keys.ts';
import type { VerifiedFiles } from '../../../src/journal/level/verify-files.ts';
import type { LogFile } from '../../../src/journal/level/verify-logs.ts';
import { findLostWrites } from '../../../src/journal/salvage/lost-writes.ts';
import { encodeHead } from '../../../src/journal/stored-values.ts';
import { encodeTrail } from '../../../src/journal/commit-trail.ts';
import { session, version } from '../../support/journal/samples.ts';

/** A commit of two puts: its trail, which goes back so many puts over one session, and a head. */
function commit(first: number, back: number, name: string): Buffer {
  const header = Buffer.alloc(12);
  header.writeBigUInt64LE(BigInt(first));
  header.writeUInt32LE(2, 8);
  const put = (key: Uint8Array, value: Uint8Array): Buffer =>
    Buffer.concat([Buffer.of(1, key.length), key, Buffer.of(value.length), value]);
  const trail = encodeTrail({ back, sessions: back === 0 ? new Map() : new Map([[session(name), version(first)]]) });
  const head = encodeHead({ version: version(1), owing: false });
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
  ...rest,
});

const whole = { isLossy: false, unnamed: false };
const told = { isLossy: true, unnamed: false };
const untold = { isLossy: true, unnamed: true };

describe('the numbers of the puts around a hole', () => {
  test('say that nothing is lost where none is missing', () => {
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(3, 2, 'a')])]), 1)).toMatchObject(whole);
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a')]), log('2', [commit(3, 2, 'a')])]), 1)).toMatchObject(
      whole,
    );
    // What is damaged held nothing, or what the tables hold as well.
    expect(findLostWrites(files([log('2', [commit(3, 2, 'a')], 'head')]), 3)).toMatchObject(whole);
    expect(findLostWrites(files([]), 9)).toMatchObject(whole);
  });

  test('lead to the sessions that are named behind it, within a log and from one log to the next', () => {
    const within = findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(5, 2, 'b')])]), 1);
    expect(within).toMatchObject(told);
    expect(within.named).toEqual(new Map([['b', 5]]));
    const between = files([log('1', [commit(1, 0, 'a')], 'tail'), log('2', [commit(5, 2, 'b')])]);
    expect(findLostWrites(between, 1)).toMatchObject(told);
    expect(findLostWrites(files([log('2', [commit(5, 4, 'b')], 'head')]), 1)).toMatchObject(told);
    // By a later commit too, and by several together.
    const later = [commit(1, 0, 'a'), commit(7, 2, 'b'), commit(9, 6, 'c')];
    expect(findLostWrites(files([log('1', later)]), 1)).toMatchObject(told);
  });

  test('lead nowhere when nothing goes back far enough', () => {
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a'), commit(7, 2, 'b')])]), 1)).toMatchObject(untold);
    expect(findLostWrites(files([log('2', [commit(5, 2, 'b')], 'head')]), 1)).toMatchObject(untold);
    expect(findLostWrites(files([log('1', [commit(1, 0, 'a')], 'tail')]), 1)).toMatchObject(untold);
    expect(findLostWrites(files([], { isOneMissing: true }), 1)).toMatchObject(untold);
  });

  test('mean nothing between a leftover and the next log: the tables have what was there', () => {
    const leftover = files([log('1', [commit(1, 0, 'a')]), log('7', [commit(99, 0, 'b')])]);
    expect(findLostWrites(leftover, 99)).toMatchObject(whole);
  });

  test('are known to the end when the journal was closed', () => {
    const closed = { sizes: new Map([['1', 999]]), first: 1, end: 9, sessions: new Map([[session('z'), version(4)]]) };
    const cut = findLostWrites(files([log('1', [commit(1, 0, 'a')], 'tail')], { closed }), 1);
    expect(cut).toMatchObject(told);
    expect(cut.named).toEqual(new Map([['z', 4]]));
    expect(findLostWrites(files([], { closed, isOneMissing: true }), 1)).toMatchObject(told);
    expect(findLostWrites(files([], { closed, isOneMissing: true }), 9)).toMatchObject(whole);
    // Layout 1 did not say what it had written.
    const silent = { ...closed, first: 0, end: 0, sessions: new Map() };
    expect(findLostWrites(files([], { closed: silent, isOneMissing: true }), 1)).toMatchObject(untold);
  });
});
