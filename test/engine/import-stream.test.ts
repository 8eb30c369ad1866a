// An import that stops anywhere resumes where it stopped, and never continues another stream.
import { readFileSync } from 'node:fs';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { EVENTS_PER_APPEND_MAX } from '../../schemas/limits.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { replay } from '../../src/core/index.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { EXPORTED } from '../support/engine/stories.ts';
import { SESSION } from '../support/engine/world.ts';

async function* inTurn<T>(values: readonly T[]): AsyncGenerator<T> {
  yield* values;
}

async function codeOf(disk: Disk, records: readonly StreamRecord[]): Promise<string> {
  const imported = await importStream(disk.ports(), inTurn(records));
  return isLeft(imported) ? imported.left.code : `${imported.right.version} events`;
}

const ALL = EXPORTED.length - 1;

/** A recorded session of several hundred transcript entries, most of them in sealed pages. */
const LONG = readFileSync(new URL('../../replay-fixtures/sealed-pages/session.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as StreamRecord);

describe('an import', () => {
  test('that was interrupted resumes where it stopped', async () => {
    const disk = newDisk();
    disk.fault = ({ name, nth }) => (name === 'append' && nth > 2 ? 'full' : null);
    expect(await codeOf(disk, EXPORTED)).toBe('storage_full');
    expect((await must(disk.journal.head(SESSION))).version).toBe(EVENTS_PER_APPEND_MAX);
    disk.fault = () => null;
    expect(await codeOf(disk, EXPORTED)).toBe(`${ALL} events`);
    const loaded = await loadSession(disk.journal, SESSION);
    expect(loaded).toMatchObject({ right: { chain: EXPORTED.at(-1)?.chain, from: { version: ALL } } });
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
  });

  test('stores every sealed page of the transcript', async () => {
    const disk = newDisk();
    expect(await codeOf(disk, LONG)).toBe(`${LONG.length - 1} events`);
    const { sealed } = replay(LONG).state?.transcript ?? { sealed: [] };
    expect(sealed.length).toBeGreaterThan(1);
    for (const ref of sealed) expect(await must(disk.blobs.has(ref))).toBe(true);
  });

  test('does not store an event whose sealed page cannot be stored', async () => {
    const disk = newDisk();
    disk.fault = ({ name }) => (name === 'put' ? 'full' : null);
    expect(await codeOf(disk, LONG)).toBe('storage_full');
    const [id] = (await must(disk.journal.sessions())).map(({ session_id }) => session_id);
    const { version } = await must(disk.journal.head(id as SessionId));
    expect(replay(LONG.slice(0, version + 1)).state?.transcript.sealed).toEqual([]);
    disk.fault = () => null;
    expect(await codeOf(disk, LONG)).toBe(`${LONG.length - 1} events`);
  });

  test('does not continue a session with other or further events', async () => {
    const disk = newDisk();
    expect(await codeOf(disk, EXPORTED.slice(0, 4))).toBe('3 events');
    const [other] = await must(disk.journal.read(SESSION, 0 as never, 1));
    if (other === undefined) throw new Error('nothing is stored');
    await must(disk.journal.append(SESSION, 3 as Version, [{ ...other, event_id: 'x' as never }], false));
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
    expect((await must(disk.journal.head(SESSION))).version).toBe(4);
    expect(await codeOf(disk, EXPORTED.slice(0, 3))).toBe('session_exists');
  });

  test('does not continue a session with another genesis', async () => {
    const disk = newDisk();
    await must(disk.journal.create(SESSION, '{}'));
    expect(await codeOf(disk, EXPORTED)).toBe('session_exists');
    expect((await must(disk.journal.head(SESSION))).version).toBe(0);
  });
});
