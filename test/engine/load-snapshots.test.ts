// A load with snapshots gives the same result as one without, also with wrong snapshots.
import * as fc from 'fast-check';
import { isLeft, left } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { canonicalText } from '../../schemas/canonical.ts';
import type { Position, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX, READ_PAGE_EVENTS } from '../../schemas/limits.ts';
import { reject, unreachable } from '../../schemas/rejection.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { stateBytes } from '../../src/core/index.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { neverPause } from '../../src/turns.ts';
import type { Journal, JournalCommit } from '../../src/journal/journal.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import {
  type StoredStream,
  endsOf,
  lastOf,
  recordStream,
  snapshotAt,
  storeStream,
} from '../support/engine/stored-stream.ts';
import { roundsOf } from '../support/random.ts';
import { session } from '../support/session.ts';
import { walk } from '../support/streams.ts';
import { must, mustBe } from '../../src/client/must.ts';

interface Stored {
  readonly journal: Journal;
  readonly stream: StoredStream;
  /** How many commits were read from the journal. */
  readonly read: () => number;
}

/** A random stream with commits of these sizes, in a journal that returns these snapshots, newest first. */
async function stored(
  seed: number,
  length: number,
  made: (stream: StoredStream) => readonly Snapshot[],
  sizes: readonly number[] = [1],
): Promise<Stored> {
  const { session: walked } = walk(seed, length);
  const stream = recordStream(walked, walked.events, sizes);
  const journal = openMemoryJournal();
  await storeStream(journal, stream);
  const snapshots = new Map(made(stream).map((snapshot) => [snapshot.version, snapshot]));
  let read = 0;
  return {
    stream,
    read: () => read,
    journal: {
      ...journal,
      read: (id, from, limit) => async () => {
        const page = await journal.read(id, from, limit)();
        if (!isLeft(page)) read += page.right.length;
        return page;
      },
      snapshots: {
        ...journal.snapshots,
        versions: () => async () => ({ _tag: 'Right', right: [...snapshots.keys()].sort((a, b) => b - a) }),
        get: (_, version) => async () => ({ _tag: 'Right', right: snapshots.get(version) ?? null }),
      },
    },
  };
}

async function expectFoldedState({ journal, stream }: Stored): Promise<readonly Version[]> {
  const loaded = mustBe(await loadSession(journal, neverPause, stream.id));
  const { state, chain } = lastOf(stream.folded);
  expect(stateBytes(loaded.state)).toEqual(stateBytes(state));
  expect(loaded.chain).toBe(chain);
  return [loaded.from.version, ...loaded.from.wrong];
}

describe('a session with snapshots', () => {
  test('is loaded from the newest one: only later events are folded', async () => {
    for (let seed = 1; seed <= roundsOf(1, 10); seed += 1) {
      for (const sizes of [[1], [3], [1, 7, 2]]) {
        const middle = ({ commits }: StoredStream): number => Math.floor(commits.length / 2);
        const at = (stream: StoredStream): number => endsOf(stream)[middle(stream) - 1] as number;
        const made = (stream: StoredStream) => [snapshotAt(stream, at(stream)), snapshotAt(stream, sizes[0] as number)];
        const world = await stored(seed, 100, made, sizes);
        expect(await expectFoldedState(world)).toEqual([at(world.stream)]);
        // The commits after it, the one that it ends with, and the one before that.
        expect(world.read()).toBe(world.stream.commits.length - middle(world.stream) + 2);
      }
    }
  });

  test('is loaded from one after its first commit, and from one after its last', async () => {
    for (const size of [1, 4]) {
      const first = await stored(4, 60, (stream) => [snapshotAt(stream, size)], [size]);
      expect(await expectFoldedState(first)).toEqual([size]);
      const last = await stored(4, 60, (stream) => [snapshotAt(stream, stream.events.length)], [size]);
      expect(await expectFoldedState(last)).toEqual([last.stream.events.length]);
    }
  });

  test('is not loaded from one that ends inside a commit, also when its state is right', async () => {
    for (const [version, sizes] of [
      [1, [3]],
      [2, [3]],
      [10, [4, 8]],
      [11, [4, 8]],
    ] as const) {
      const inside = await stored(4, 60, (stream) => [snapshotAt(stream, version)], sizes);
      expect(endsOf(inside.stream)).not.toContain(version);
      expect(await expectFoldedState(inside)).toEqual([0, version]);
      const chained = (stream: StoredStream): Snapshot => {
        const { chain, state_digest } = stream.commits.find(
          ({ position, events }) => version < position + events.length,
        ) as JournalCommit;
        return { ...snapshotAt(stream, version), chain, state_digest };
      };
      expect(await expectFoldedState(await stored(4, 60, (stream) => [chained(stream)], sizes))).toEqual([0, version]);
    }
  });

  test('is the same with any of them deleted or damaged', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.tuple(fc.nat(1_000), fc.constantFrom(...DAMAGES)), { maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 3 }),
        async (seed, cuts, sizes) => {
          const other = walk(seed + 1, 80).session;
          const foreign = recordStream(other, other.events, sizes);
          const good = new Set<number>();
          const made = (stream: StoredStream): readonly Snapshot[] =>
            cuts.map(([cut, damage]) => {
              const version = endsOf(stream)[cut % stream.commits.length] as number;
              const whole = snapshotAt(stream, version);
              const snapshot = damaged(whole, damage, foreign);
              // Two streams may begin with the same events: then a state of the other one is right.
              if (canonicalText(snapshot) === canonicalText(whole)) good.add(version);
              else good.delete(version);
              return snapshot;
            });
          const world = await stored(seed, 80, made, sizes);
          const [from = 0] = await expectFoldedState(world);
          expect(from).toBe(Math.max(0, ...good));
        },
      ),
      { numRuns: roundsOf(2, 600) },
    );
  });

  test('reports the snapshots that it did not use', async () => {
    const world = await stored(8, 400, (stream) => [
      damaged(snapshotAt(stream, 9), 'text', stream),
      snapshotAt(stream, 5),
      damaged(snapshotAt(stream, 20), 'chain', stream),
    ]);
    expect(await expectFoldedState(world)).toEqual([5, 20, 9]);
  });

  test('newer than its stream is loaded without them', async () => {
    const { session: walked } = walk(6, 240);
    const whole = recordStream(walked, walked.events);
    const cut = recordStream(walked, walked.events.slice(0, 10));
    const journal = openMemoryJournal();
    await storeStream(journal, cut);
    await must(journal.snapshots.put(snapshotAt(whole, 15)));
    const loaded = await loadSession(journal, neverPause, cut.id);
    expect(loaded).toMatchObject({ right: { chain: lastOf(cut.folded).chain, from: { version: 0, wrong: [15] } } });
  });

  test('reports where it is damaged, also when the snapshot lies before or after that', async () => {
    for (const [at, bad] of [
      [10, 14],
      [10, 13],
      [10, 9],
      [10, 8],
    ] as const) {
      const world = await stored(6, 240, (stream) => [snapshotAt(stream, at)], [2, 3]);
      const journal: Journal = {
        ...world.journal,
        read: (id, from, limit) => async () => {
          const page = await world.journal.read(id, from, limit)();
          if (isLeft(page)) return page;
          const right = page.right.map((commit) => ({
            ...commit,
            events: commit.events.map(({ text, event_id }, index) => ({
              event_id,
              text: commit.position + index === bad ? text.replace('at_ms', 'at_mz') : text,
            })),
          }));
          return { _tag: 'Right', right };
        },
      };
      const loaded = await loadSession(journal, neverPause, world.stream.id);
      expect(isLeft(loaded) && loaded.left).toMatchObject({
        code: 'damaged',
        message: expect.stringContaining(`position ${bad}:`),
      });
    }
  });

  test('is loaded without them when they cannot be read, and not at all when its stream cannot', async () => {
    const world = await stored(2, 60, (stream) => [snapshotAt(stream, 5)]);
    const refused = () => async () => left(reject('storage_failed', '', 'made to fail'));
    const { snapshots } = world.journal;
    for (const broken of [{ versions: refused }, { get: refused }]) {
      const journal = { ...world.journal, snapshots: { ...snapshots, ...broken } };
      expect((await expectFoldedState({ ...world, journal }))[0]).toBe(0);
    }
    const loaded = await loadSession({ ...world.journal, read: refused }, neverPause, world.stream.id);
    expect(isLeft(loaded) && loaded.left.code).toBe('storage_failed');
    expect(await must(world.journal.read(world.stream.id, 0 as Position, 1))).toHaveLength(1);
  });
});

describe('a stream whose pages end inside a commit', () => {
  /** More events than two pages. */
  const events = (() => {
    let long = session().runRequested();
    while (long.events.length < 2 * READ_PAGE_EVENTS + 300) long = long.paused().resumed();
    return long;
  })();

  test.each([[[EVENTS_PER_COMMIT_MAX]], [[1, EVENTS_PER_COMMIT_MAX, 3]], [[7]]])(
    'of commits of %j events is loaded whole',
    async (sizes) => {
      const stream = recordStream(events, events.events, sizes);
      expect(endsOf(stream)).not.toContain(READ_PAGE_EVENTS);
      const journal = openMemoryJournal();
      await storeStream(journal, stream);
      const loaded = mustBe(await loadSession(journal, neverPause, stream.id));
      expect(loaded.state.version).toBe(stream.events.length);
      expect(stateBytes(loaded.state)).toEqual(stateBytes(lastOf(stream.folded).state));
      expect(loaded.chain).toBe(lastOf(stream.folded).chain);
    },
  );
});

describe('a stream whose pages are short', () => {
  test('is loaded whole, and the load asks for a pause before each event', async () => {
    const { journal, stream } = await stored(7, 200, () => [], [3]);
    const short: Journal = { ...journal, read: (id, from, limit) => journal.read(id, from, Math.min(limit, 7)) };
    let pauses = 0;
    const counted = (): Promise<void> => {
      pauses += 1;
      return Promise.resolve();
    };
    const loaded = mustBe(await loadSession(short, counted, stream.id));
    expect(stateBytes(loaded.state)).toEqual(stateBytes(lastOf(stream.folded).state));
    expect(loaded.chain).toBe(lastOf(stream.folded).chain);
    expect(pauses).toBeGreaterThanOrEqual(stream.events.length);
  });
});

const DAMAGES = ['none', 'text', 'digest', 'chain', 'version', 'foreign'] as const;

function damaged(snapshot: Snapshot, damage: (typeof DAMAGES)[number], foreign: StoredStream): Snapshot {
  const zeros = `sha256:${'0'.repeat(64)}` as Snapshot['chain'];
  const version = snapshot.version as number;
  switch (damage) {
    case 'none':
      return snapshot;
    case 'text':
      return { ...snapshot, state: snapshot.state.replace('"updated_at_ms":', '"updated_at_ms":1') };
    case 'digest':
      return { ...snapshot, state_digest: zeros };
    case 'chain':
      return { ...snapshot, chain: zeros };
    case 'version':
      // Another state of the same stream, under this version.
      return { ...snapshotAt(foreign, version - 1), version: snapshot.version };
    case 'foreign':
      // A valid state, but of a stream with other events.
      return version < foreign.folded.length ? snapshotAt(foreign, version) : { ...snapshot, chain: zeros };
    default:
      return unreachable(damage);
  }
}
