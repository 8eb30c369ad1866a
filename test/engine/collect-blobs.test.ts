// Blob collection deletes only blobs that nothing refers to: every stream keeps all its blobs.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Digest, type SessionId, brand } from '../../schemas/ids.ts';
import { GC_GRACE_MS, SNAPSHOT_DELAY_MS, SNAPSHOT_EVERY_EVENTS } from '../../schemas/limits.ts';
import { newBlobCheck } from '../../src/client/watch/blob-check.ts';
import { must } from '../../src/client/must.ts';
import { blobsWithPages } from '../../src/engine/blobs-with-pages.ts';
import { type Collection, collectBlobs } from '../../src/engine/collect-blobs.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { SESSION, Talk, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { FREE } from '../support/tools.ts';
import { streamEvents } from '../support/records.ts';

const LATER_MS = Date.now() + 10 * GC_GRACE_MS;

const collect = (disk: Disk, remove: boolean, nowMs = LATER_MS): Promise<Collection> =>
  must(collectBlobs({ journal: disk.journal, blobs: disk.blobs, nowMs, remove }));

async function storedRefs(disk: Disk): Promise<readonly Digest[]> {
  const refs: Digest[] = [];
  for await (const ref of blobsWithPages(disk.blobs, disk.journal).list()) refs.push(ref);
  return refs;
}

const put = (world: World, text: string): Promise<Digest> =>
  must(world.engine.client.putBlob(new TextEncoder().encode(text)));

const blobText = (ref: Digest, text: string) => ({ ref, bytes: text.length, head: text.slice(0, 4), tail: '' });

/** One run that refers to a blob, has arguments that became a blob, and fills a page of the transcript. */
async function runWith(world: World, talk: Talk, run: number, text: string): Promise<void> {
  const ref = await put(world, text);
  await talk.submit([{ kind: 'RunRequested', input: blobText(ref, text) }]);
  const run_id = `run-${run}`;
  const calls = Array.from({ length: 70 }, (_, n) => ({
    call_id: `c${n}`,
    tool_name: 'nowhere',
    arguments: n === 0 ? { long: text.repeat(100) } : { n },
  }));
  await talk.submit([{ kind: 'ToolCallsObserved', run_id, turn: 1, calls }]);
  await talk.submit([{ kind: 'RunCancelled', run_id, reason: 'no' }]);
}

/** The faults that `refold verify` finds in the blobs of a session. */
async function missingOf(world: World, id: SessionId): Promise<readonly string[]> {
  const check = newBlobCheck(world.engine.client);
  for (const recorded of streamEvents(await must(world.engine.client.records(id)))) check.add(recorded);
  const { checked, bad } = await check.finish((await must(world.engine.client.session(id))).state);
  expect(checked).toBeGreaterThan(0);
  return bad.map(({ message }) => message);
}

describe('the collection of blobs', () => {
  test('only lists the blobs, unless deletion is requested', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf([FREE]));
    await runWith(world, world.talk, 1, 'kept '.repeat(50));
    const orphan = await put(world, 'nothing refers to this');
    const before = await storedRefs(world.disk);
    expect(await collect(world.disk, false)).toEqual({
      referenced: before.length - 1,
      young: 0,
      unreferenced: [orphan],
    });
    expect(await storedRefs(world.disk)).toEqual(before);
    await collect(world.disk, true);
    expect(await storedRefs(world.disk)).toEqual(before.filter((ref) => ref !== orphan));
    expect(await collect(world.disk, true)).toMatchObject({ unreferenced: [] });
  });

  test('keeps recent blobs: an event that refers to one may be under way', async () => {
    const world = await newWorld();
    const ref = await put(world, 'in flight');
    const now = await must(world.disk.blobs.lastPut(ref));
    expect(await collect(world.disk, true, now + GC_GRACE_MS - 1)).toEqual({
      referenced: 0,
      young: 1,
      unreferenced: [],
    });
    expect(await collect(world.disk, true, now + GC_GRACE_MS)).toMatchObject({ unreferenced: [ref] });
    await world.talk.create(packageOf([FREE]));
    const event = { kind: 'RunRequested', input: blobText(ref, 'in flight') } as const;
    // An event that comes too late is refused, so that every recorded event has its blobs.
    expect(await world.talk.outcome(event)).toBe('unknown_blob');
    await put(world, 'in flight');
    expect(await world.talk.outcome(event)).toBe('done');
  });

  test('keeps pages outside the window, and the blobs that snapshots name', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf([FREE]));
    for (let run = 1; run <= 66; run += 1) await runWith(world, world.talk, run, `text of run ${run} `.repeat(20));
    expect((await world.talk.state()).version).toBeGreaterThan(SNAPSHOT_EVERY_EVENTS);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await must(world.disk.journal.snapshots.versions(SESSION))).not.toEqual([]);
    const before = await storedRefs(world.disk);
    expect((await collect(world.disk, true)).unreferenced).toEqual([]);
    expect(await storedRefs(world.disk)).toEqual(before);
    expect(await missingOf(world, SESSION)).toEqual([]);
  });

  test('keeps a page as long as a session refers to it, whatever was deleted', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf([FREE]));
    await runWith(world, world.talk, 1, 'text of a fork '.repeat(20));
    const fork = brand<'SessionId'>('the-fork');
    await must(world.engine.client.fork(SESSION, { session_id: fork }));
    const pages = await must(world.disk.journal.pages(null, 10));
    expect(pages.length).toBeGreaterThan(0);
    await must(world.engine.client.deleteSession(SESSION));
    expect((await collect(world.disk, true)).unreferenced).toEqual([]);
    expect(await missingOf(world, fork)).toEqual([]);
    await must(world.engine.client.deleteSession(fork));
    // A page never waits for its event, so no period of grace protects it.
    const { unreferenced } = await collect(world.disk, true, Date.now());
    expect(unreferenced).toEqual(pages);
    expect(await must(world.disk.journal.pages(null, 10))).toEqual([]);
  });

  test.each(['page', 'stream'] as const)('collects nothing when a %s is damaged', async (what) => {
    const world = await newWorld();
    await world.talk.create(packageOf([FREE]));
    await runWith(world, world.talk, 1, 'text');
    await put(world, 'orphan');
    const [page] = (await world.talk.state()).transcript.sealed;
    if (page === undefined) throw new Error('no page was sealed');
    const before = (await storedRefs(world.disk)).filter((ref) => what !== 'page' || ref !== page);
    if (what === 'page') await must(world.disk.journal.deletePages([page]));
    const { journal, blobs } = world.disk;
    const torn: typeof journal = {
      ...journal,
      genesis: () => async () => ({ _tag: 'Right', right: '{}' }),
    };
    const stores = { journal: what === 'page' ? journal : torn, blobs };
    const refused = await refusal(collectBlobs({ ...stores, nowMs: LATER_MS, remove: true }));
    expect(refused.code).toBe('damaged');
    expect(refused.message).toContain(SESSION);
    expect(await storedRefs(world.disk)).toEqual(before);
  });

  test('leaves any streams whole, and no unreferenced blob', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 1_000_000 }), async (seed) => {
        const random = randomFrom(seed);
        const world = await newWorld(newDisk());
        const ids = ['s-1', 's-2', 's-3'].map((name) => brand<'SessionId'>(name));
        const runs = new Map<SessionId, number>();
        const orphans = new Set<Digest>();
        for (const id of ids) await new Talk(world.engine.client, id).create(packageOf([FREE]));
        for (let action = 0; action < 8; action += 1) {
          const text = `${seed}/${random.below(6)} `.repeat(60);
          const id = random.pick(ids);
          if (random.oneIn(3)) orphans.add(await put(world, text));
          else {
            runs.set(id, (runs.get(id) ?? 0) + 1);
            await runWith(world, new Talk(world.engine.client, id), runs.get(id) ?? 1, text);
          }
        }
        const before = await storedRefs(world.disk);
        const { unreferenced, referenced } = await collect(world.disk, true);
        for (const ref of unreferenced) expect(orphans).toContain(ref);
        expect(await storedRefs(world.disk)).toEqual(before.filter((ref) => !unreferenced.includes(ref)));
        expect(referenced + unreferenced.length).toBe(before.length);
        for (const id of runs.keys()) expect(await missingOf(world, id)).toEqual([]);
        await world.restart();
        for (const id of runs.keys()) expect(await missingOf(world, id)).toEqual([]);
      }),
      { numRuns: roundsOf(6, 120) },
    );
  });
});
