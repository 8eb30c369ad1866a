// An import that stops anywhere resumes where it stopped, and never continues another stream.
import { readFileSync } from 'node:fs';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Digest } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../schemas/limits.ts';
import { type CommitRecord, type PackageRecord, type StreamRecord } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { newReplayer } from '../../src/core/replay.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { neverPause } from '../../src/turns.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { recordStream, recordsOf } from '../support/engine/stored-stream.ts';
import { EXPORTED } from '../support/engine/stories.ts';
import { SESSION } from '../support/engine/world.ts';
import { commitAt, createSample, idleHead, readAll } from '../support/journal/samples.ts';
import { commitSizes, eventsOf } from '../support/records.ts';
import { session } from '../support/session.ts';

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

async function codeOf(disk: Disk, records: readonly StreamRecord[]): Promise<string> {
  const imported = await importStream({ ...disk.ports(), own_facts_at_ms: null }, inTurn(records));
  return isLeft(imported) ? imported.left.code : `${imported.right.version} events`;
}

/** Imports these records and then one that does not verify, so that the import is cut off after them. */
async function cutOff(disk: Disk, records: readonly StreamRecord[]): Promise<void> {
  expect(await codeOf(disk, [...records, records[0] as StreamRecord])).toBe('damaged');
}

const ALL = eventsOf(EXPORTED).length;

const ORIGIN = session({ session_id: SESSION });
const EXPORTED_EVENTS = Array.from({ length: 6 }).reduce<typeof ORIGIN>(
  (now) => now.paused().resumed(),
  ORIGIN.runRequested(),
).events;

/** A recorded session of several hundred transcript entries, most of them in sealed pages. */
const LONG = readFileSync(new URL('../../replay-fixtures/sealed-pages/session.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as StreamRecord);

/** The pages that the journal of a disk has, in order. */
const pagesOf = (disk: Disk): Promise<readonly Digest[]> => must(disk.journal.pages(null, 100));

/** The pages that these records seal, in order. */
function sealedIn(records: readonly StreamRecord[]): readonly Digest[] {
  const refs: Digest[] = [];
  const replayer = newReplayer(({ sealed }) => {
    if (sealed !== null) refs.push(sealed.ref);
  });
  for (const record of records) expect(replayer.add(record)).toBe(true);
  expect(refs.length).toBeGreaterThan(1);
  return refs.sort();
}

describe('an import', () => {
  test('that was interrupted resumes where it stopped', async () => {
    const disk = newDisk();
    disk.fault = ({ name, nth }) => (name === 'append' && nth > 2 ? 'full' : null);
    expect(await codeOf(disk, EXPORTED)).toBe('storage_full');
    const { version } = await must(disk.journal.head(SESSION));
    expect(version).toBeGreaterThanOrEqual(EVENTS_PER_COMMIT_MAX);
    expect(version).toBeLessThan(ALL);
    disk.fault = () => null;
    expect(await codeOf(disk, EXPORTED)).toBe(`${ALL} events`);
    const loaded = await loadSession(disk.journal, neverPause, SESSION);
    const last = EXPORTED.at(-1);
    const chain = last?.kind === 'commit' ? last.chain : null;
    expect(loaded).toMatchObject({ right: { chain, from: { version: ALL } } });
    const stored = await readAll(disk.journal, SESSION);
    expect(stored.map(({ events }) => events.length)).toEqual(commitSizes(EXPORTED));
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
  });

  test('stores every sealed page of the transcript', async () => {
    const disk = newDisk();
    expect(await codeOf(disk, LONG)).toBe(`${eventsOf(LONG).length} events`);
    expect(await pagesOf(disk)).toEqual(sealedIn(LONG));
  });

  test('stores no page of commits that are not stored', async () => {
    const disk = newDisk();
    disk.fault = ({ name }) => (name === 'append' ? 'full' : null);
    expect(await codeOf(disk, LONG)).toBe('storage_full');
    expect(await pagesOf(disk)).toEqual([]);
    disk.fault = () => null;
    expect(await codeOf(disk, LONG)).toBe(`${eventsOf(LONG).length} events`);
    expect(await pagesOf(disk)).toEqual(sealedIn(LONG));
  });

  test('stores the pages of a copy again that were collected before it goes on', async () => {
    const disk = newDisk();
    await cutOff(disk, LONG);
    expect(await pagesOf(disk)).toEqual(sealedIn(LONG));
    await must(disk.journal.deletePages(sealedIn(LONG)));
    expect(await codeOf(disk, LONG)).toBe(`${eventsOf(LONG).length} events`);
    expect(await pagesOf(disk)).toEqual(sealedIn(LONG));
  });

  test('does not continue a session with other or further events', async () => {
    const disk = newDisk();
    expect(await codeOf(disk, EXPORTED.slice(0, 4))).toBe('3 events');
    await must(disk.journal.append(SESSION, [commitAt(3, 'x')], idleHead));
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
    expect((await must(disk.journal.head(SESSION))).version).toBe(4);
    expect(await codeOf(disk, EXPORTED.slice(0, 3))).toBe('session_exists');
  });

  test('does not continue a session that is complete, with whatever events its stream goes on', async () => {
    const disk = newDisk();
    expect(await codeOf(disk, EXPORTED.slice(0, 4))).toBe('3 events');
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
    expect((await must(disk.journal.head(SESSION))).version).toBe(3);
  });

  test('that continues says so, and one that is shorter than what is stored is refused', async () => {
    const disk = newDisk();
    await cutOff(disk, EXPORTED.slice(0, 6));
    expect(await codeOf(disk, EXPORTED.slice(0, 4))).toBe('session_exists');
    const imported = await importStream({ ...disk.ports(), own_facts_at_ms: null }, inTurn(EXPORTED));
    expect(imported).toMatchObject({ right: { continued: true, version: ALL } });
    const other = await importStream({ ...newDisk().ports(), own_facts_at_ms: null }, inTurn(EXPORTED));
    expect(other).toMatchObject({ right: { continued: false } });
  });

  test('does not continue a copy with the same events in other commits', async () => {
    const events = EXPORTED_EVENTS.slice(0, 12);
    const exported = (sizes: readonly number[], count = 12): readonly StreamRecord[] =>
      recordsOf(recordStream(ORIGIN, events.slice(0, count), sizes));
    for (const [stored, continued] of [
      [[1], [2]],
      [[2], [1]],
      [[3, 1], [4]],
    ] as const) {
      const disk = newDisk();
      await cutOff(disk, exported(stored, 7));
      expect(await codeOf(disk, exported(continued))).toBe('session_exists');
      expect((await must(disk.journal.head(SESSION))).version).toBe(7);
    }
    // An earlier end of the stream is continued only where a commit ends.
    const disk = newDisk();
    await cutOff(disk, exported([4], 6));
    expect(await codeOf(disk, exported([4]))).toBe('session_exists');
    const whole = newDisk();
    await cutOff(whole, exported([4], 8));
    expect(await codeOf(whole, exported([4]))).toBe('12 events');
  });

  test('stores the commits before one that does not verify, and none of that one', async () => {
    const damaged = recordsOf(recordStream(ORIGIN, EXPORTED_EVENTS.slice(0, 9), [3]));
    const last = damaged.at(-1) as CommitRecord;
    for (const bad of [
      { ...last, events: last.events.toReversed() },
      { ...last, events: last.events.slice(1) },
      { ...last, state_digest: last.chain },
    ]) {
      const disk = newDisk();
      expect(await codeOf(disk, [...damaged.slice(0, -1), bad])).toBe('damaged');
      expect((await must(disk.journal.head(SESSION))).version).toBe(6);
      expect(await codeOf(disk, damaged)).toBe('9 events');
    }
  });

  test('stores nothing when the tool package is missing or altered', async () => {
    const [tools, ...rest] = EXPORTED as readonly [PackageRecord, ...StreamRecord[]];
    const registry = tools.tool_package.registry.slice(1);
    const altered = { ...tools, tool_package: { ...tools.tool_package, registry } };
    for (const records of [rest, [altered, ...rest], [tools]]) {
      const disk = newDisk();
      expect(await codeOf(disk, records)).toBe('damaged');
      expect((await must(disk.journal.sessions({ limit: 1_000 }))).sessions).toEqual([]);
    }
  });

  test('does not continue a session with another genesis', async () => {
    const disk = newDisk();
    await must(createSample(disk.journal, SESSION));
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
    expect((await must(disk.journal.head(SESSION))).version).toBe(0);
  });
});
