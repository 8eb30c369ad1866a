// A reader of a client stream that resumes begins at a stored snapshot before its place, and gets what it would have got.
import { right } from 'fp-ts/lib/Either.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SNAPSHOTS_KEPT, SNAPSHOT_DELAY_MS } from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { must, sessionStream } from '../../src/client/index.ts';
import type { StreamedEvent } from '../../src/core/index.ts';
import { startEngine } from '../../src/engine/engine.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { SESSION, Talk } from '../support/engine/world.ts';

const EVERY_EVENTS = 10;
const RUNS = 30;

/** Where each read of commits began. */
const reads: number[] = [];
/** What is made of each snapshot that is read. */
let altered = (snapshot: Snapshot): Snapshot => snapshot;

const clock = newVirtualClock();
let stop: () => Promise<void>;
let talk: Talk;
let whole: readonly StreamedEvent[];
/** The versions of the snapshots that are kept, newest first. */
let kept: readonly number[];

const watched = (journal: Journal): Journal => ({
  ...journal,
  read(id, from, limit) {
    reads.push(from);
    return journal.read(id, from, limit);
  },
  snapshots: {
    ...journal.snapshots,
    get: (id, version) => async () => {
      const read = await must(journal.snapshots.get(id, version));
      return right(read === null ? null : altered(read));
    },
  },
});

/** So many events after an id. */
async function take(count: number, after?: string): Promise<readonly StreamedEvent[]> {
  const seen: StreamedEvent[] = [];
  const ended = new AbortController();
  const options = { signal: ended.signal, ...(after === undefined ? {} : { after }) };
  for await (const event of sessionStream(talk.client, SESSION, options)) {
    seen.push(event);
    if (seen.length === count) break;
  }
  ended.abort();
  return seen;
}

beforeAll(async () => {
  const { journal, blobs } = newDisk().ports();
  const engine = await must(
    startEngine({ journal: watched(journal), blobs, clock, snapshotEveryEvents: EVERY_EVENTS }),
  );
  stop = () => engine.close();
  talk = await new Talk(engine.client).create();
  for (let run = 1; run <= RUNS; run += 1) {
    await talk.run();
    const observed = { kind: 'ToolCallsObserved', run_id: `run-${run}`, turn: 1, calls: [] } as const;
    await talk.submit([{ ...observed, content: { text: `answer ${run}` } }]);
    await clock.advance(SNAPSHOT_DELAY_MS);
  }
  kept = await must(journal.snapshots.versions(SESSION));
  // Each run begins with one event, and ends with a block of three and its end.
  whole = await take(RUNS * 5);
});
afterAll(() => stop());

const positionOf = ({ id = '' }: StreamedEvent): number => Number(id.split('.')[0]);

describe('a stream that is resumed', () => {
  test('has snapshots to begin at', () => {
    expect(kept).toHaveLength(SNAPSHOTS_KEPT);
    expect(kept[0]).toBeGreaterThan(2 * RUNS - 3 * EVERY_EVENTS);
  });

  test('after any id is the rest of the whole', async () => {
    for (const [index, { id }] of whole.entries()) {
      if (index === whole.length - 1) continue;
      expect(await take(whole.length - index - 1, id)).toEqual(whole.slice(index + 1));
    }
  });

  test('near its end reads nothing that is older than the snapshot before its place', async () => {
    for (const [index, event] of whole.slice(0, -1).entries()) {
      const place = positionOf(event) + (event.id?.includes('.') === true ? 0 : 1);
      const snapshot = kept.find((version) => version <= place);
      if (snapshot === undefined) continue;
      reads.length = 0;
      await take(whole.length - index - 1, event.id);
      // The commit that a snapshot ends with is compared with it, and the one before.
      expect(Math.min(...reads)).toBeGreaterThanOrEqual(snapshot - 2);
    }
    expect(whole.some((event) => positionOf(event) > (kept[0] ?? Infinity))).toBe(true);
  });

  test('before every snapshot is folded from the first event', async () => {
    reads.length = 0;
    expect(await take(3, '0')).toEqual(whole.slice(1, 4));
    expect(Math.min(...reads)).toBe(0);
  });

  test.each<[string, (snapshot: Snapshot) => Snapshot]>([
    ['another state', (snapshot) => ({ ...snapshot, state: snapshot.state.replace('answer 1', 'answer 2') })],
    ['another chain value', (snapshot) => ({ ...snapshot, chain: snapshot.state_digest })],
    ['no JSON', (snapshot) => ({ ...snapshot, state: '{' })],
  ])('does not begin at a snapshot that has %s', async (_what, change) => {
    altered = change;
    reads.length = 0;
    const from = whole.length - 4;
    expect(await take(3, whole[from]?.id)).toEqual(whole.slice(from + 1));
    expect(Math.min(...reads)).toBe(0);
    altered = (snapshot) => snapshot;
  });
});
