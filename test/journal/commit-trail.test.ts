// What the commits behind a hole of one sector, or of one block, say of what it took, whatever was written.
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
  /** The number of its first put, and where its bytes begin. */
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
  const stands = new Map<SessionId, number>();
  const commits: Commit[] = [];
  let [first, from] = [1, 0];
  for (const { bytes, puts, sessions } of inputs) {
    const versions = new Map<SessionId, Version>();
    for (const n of sessions) {
      const id = session(`s${n}`);
      stands.set(id, (stands.get(id) ?? 0) + 1);
      versions.set(id, version(stands.get(id) ?? 0));
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

/** The commits that a hole takes of which nothing behind it tells, by their index. */
function untold(commits: readonly Commit[], hole: number, size: number): readonly number[] {
  const isLost = ({ from, bytes }: Commit): boolean => from < hole + size && from + bytes > hole;
  const behind = commits.filter(({ from }) => from >= hole + size);
  return commits.flatMap((commit, index) => {
    if (!isLost(commit)) return [];
    const told = behind.filter(({ first, trail }) => first - trail.back <= commit.first);
    const isNamed = [...commit.versions].every(([id, at]) =>
      told.some(({ trail, versions }) => (trail.sessions.get(id) ?? 0) >= at || versions.has(id)),
    );
    return told.length > 0 && isNamed ? [] : [index];
  });
}

describe('the trail', () => {
  test.each([4_096, 32_768])('names all that a hole of %i bytes took, once as much was written behind it', (size) => {
    expect.hasAssertions();
    fc.assert(
      fc.property(fc.array(anyCommit, { minLength: 5, maxLength: 150 }), fc.nat(), (inputs, at) => {
        const commits = commitsOf(inputs);
        const end = commits.reduce((sum, { bytes }) => sum + bytes, 0);
        const largest = Math.max(...commits.map(({ bytes }) => bytes));
        const hole = at % end;
        // The hole may take a piece of the commit at its end, and the one that is due comes behind the next.
        const isRepeated = end >= hole + 2 * size + 2 * largest;
        if (isRepeated) expect(untold(commits, hole, size)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test('names all that the loss of one commit took, at once', () => {
    fc.assert(
      fc.property(fc.array(anyCommit, { minLength: 2, maxLength: 60 }), fc.nat(), (inputs, at) => {
        const commits = commitsOf(inputs);
        const { from, bytes } = commits[at % (commits.length - 1)] as Commit;
        expect(untold(commits, from, bytes)).toEqual([]);
      }),
    );
  });

  test('goes back further for nothing while only few sessions write', () => {
    const commits = commitsOf(Array.from({ length: 40 }, () => ({ bytes: 50, puts: 3, sessions: [1] })));
    expect(commits.at(-1)?.trail).toEqual({ back: 39 * 3, sessions: new Map() });
    const two = commitsOf(Array.from({ length: 40 }, (_, n) => ({ bytes: 50, puts: 3, sessions: [n % 2] })));
    expect(two.at(-1)?.trail).toEqual({ back: 39 * 3, sessions: new Map([['s0', 20]]) });
  });

  test('says nothing of what was before the log was begun', () => {
    const writer = newTrailWriter();
    const versions = new Map([[session('a'), version(3)]]);
    writer.written(versions, 5, 100);
    writer.forget();
    expect(decodeTrail(writer.put(new Map()).value)).toEqual({ back: 0, sessions: new Map() });
  });

  test('is small beside what it is written with', () => {
    const busy = Array.from({ length: 400 }, (_, n) => ({ bytes: 2_000, puts: 9, sessions: [n % 100] }));
    const bytes = commitsOf(busy).reduce((sum, { trail }) => sum + encodeTrail(trail).length, 0);
    expect(bytes / (400 * 2_000)).toBeLessThan(0.02);
  });

  test('is none when it is garbage', () => {
    for (const hex of ['', 'f1', '0005', '000261', '00010161ff', '0001022121']) {
      expect(decodeTrail(Buffer.from(hex, 'hex'))).toBeNull();
    }
  });
});
