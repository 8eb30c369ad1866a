// The commits after a hole of one sector, or of one block, name every session whose writes the hole took.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { type Trail, decodeTrail, encodeTrail, newTrailWriter } from '../../src/journal/commit-trail.ts';
import { session, version } from '../support/journal/samples.ts';

interface Commit {
  readonly bytes: number;
  readonly puts: number;
  readonly versions: ReadonlyMap<SessionId, Version>;
  readonly trail: Trail;
  /** The number of its first put, and the offset of its first byte. */
  readonly first: number;
  readonly from: number;
}

const anyCommit = fc.record({
  bytes: fc.oneof(fc.integer({ min: 40, max: 900 }), fc.integer({ min: 40, max: 20_000 })),
  puts: fc.integer({ min: 2, max: 20 }),
  sessions: fc.uniqueArray(fc.nat(30), { minLength: 1, maxLength: 5 }),
});

function commitsOf(inputs: readonly { bytes: number; puts: number; sessions: readonly number[] }[]): readonly Commit[] {
  const writer = newTrailWriter();
  const latest = new Map<SessionId, number>();
  const commits: Commit[] = [];
  let [first, from] = [1, 0];
  for (const { bytes, puts, sessions } of inputs) {
    const versions = new Map<SessionId, Version>();
    for (const n of sessions) {
      const id = session(`s${n}`);
      latest.set(id, (latest.get(id) ?? 0) + 1);
      versions.set(id, version(latest.get(id) ?? 0));
    }
    const trail = decodeTrail(writer.put(versions).value);
    if (trail === null) throw new Error('a trail does not decode');
    writer.written(versions, puts, bytes);
    commits.push({ bytes, puts, versions, trail, first, from });
    first += puts;
    from += bytes;
  }
  return commits;
}

/** The indexes of the commits that a hole takes and that no later commit covers. */
function uncovered(commits: readonly Commit[], hole: number, size: number): readonly number[] {
  const isLost = ({ from, bytes }: Commit): boolean => from < hole + size && from + bytes > hole;
  const later = commits.filter(({ from }) => from >= hole + size);
  return commits.flatMap((commit, index) => {
    if (!isLost(commit)) return [];
    const covering = later.filter(({ first, trail }) => first - trail.back <= commit.first);
    const isNamed = [...commit.versions].every(([id, at]) =>
      covering.some(({ trail, versions }) => (trail.sessions.get(id) ?? 0) >= at || versions.has(id)),
    );
    return covering.length > 0 && isNamed ? [] : [index];
  });
}

describe('the trail', () => {
  test.each([4_096, 32_768])(
    'names all sessions in a hole of %i bytes once twice as much was written after it',
    (size) => {
      expect.hasAssertions();
      fc.assert(
        fc.property(fc.array(anyCommit, { minLength: 5, maxLength: 150 }), fc.nat(), (inputs, at) => {
          const commits = commitsOf(inputs);
          const end = commits.reduce((sum, { bytes }) => sum + bytes, 0);
          const largest = Math.max(...commits.map(({ bytes }) => bytes));
          const hole = at % end;
          // The hole may take a part of the commit at its end, and the covering commit comes one commit later.
          const isRepeated = end >= hole + 2 * size + 2 * largest;
          if (isRepeated) expect(uncovered(commits, hole, size)).toEqual([]);
        }),
        { numRuns: 1_000 },
      );
    },
  );

  test('names all sessions of a lost commit in the next commit', () => {
    fc.assert(
      fc.property(fc.array(anyCommit, { minLength: 2, maxLength: 60 }), fc.nat(), (inputs, at) => {
        const commits = commitsOf(inputs);
        const { from, bytes } = commits[at % (commits.length - 1)] as Commit;
        expect(uncovered(commits, from, bytes)).toEqual([]);
      }),
    );
  });

  test('covers further commits while they add no session name', () => {
    const commits = commitsOf(Array.from({ length: 40 }, () => ({ bytes: 50, puts: 3, sessions: [1] })));
    expect(commits.at(-1)?.trail).toEqual({ back: 39 * 3, sessions: new Map() });
    const two = commitsOf(Array.from({ length: 40 }, (_, n) => ({ bytes: 50, puts: 3, sessions: [n % 2] })));
    expect(two.at(-1)?.trail).toEqual({ back: 39 * 3, sessions: new Map([['s0', 20]]) });
  });

  test('does not cover commits of an earlier log', () => {
    const writer = newTrailWriter();
    const versions = new Map([[session('a'), version(3)]]);
    writer.written(versions, 5, 100);
    writer.forget();
    expect(decodeTrail(writer.put(new Map()).value)).toEqual({ back: 0, sessions: new Map() });
  });

  test('takes less than 2% of the bytes of its commits', () => {
    const busy = Array.from({ length: 400 }, (_, n) => ({ bytes: 2_000, puts: 9, sessions: [n % 100] }));
    const bytes = commitsOf(busy).reduce((sum, { trail }) => sum + encodeTrail(trail).length, 0);
    expect(bytes / (400 * 2_000)).toBeLessThan(0.02);
  });

  test('decodes to null when it is garbage', () => {
    for (const hex of ['', 'f1', '0005', '000261', '00010161ff', '0001022121']) {
      expect(decodeTrail(Buffer.from(hex, 'hex'))).toBeNull();
    }
  });
});
