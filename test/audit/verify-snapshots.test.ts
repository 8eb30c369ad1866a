// `refold verify` checks the snapshots of a data directory and names the first bad one.
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { must } from '../../src/client/must.ts';
import { freshDirectory, jsonLines, refold } from '../support/e2e/refold.ts';
import { recordStream, snapshotAt, storeStream } from '../support/engine/stored-stream.ts';
import { session } from '../support/session.ts';

describe('refold verify of snapshots', () => {
  const long = brand<'SessionId'>('long');
  const directory = (): string => join(data, 'journal', 'snapshots', long);
  const verified = async (): Promise<readonly [number | null, Readonly<Record<string, unknown>> | undefined]> => {
    const { code, stdout } = await refold(['verify', long, '--json', '--data-dir', data]);
    return [code, jsonLines(stdout)[0]];
  };
  let home = '';
  let data = '';

  beforeAll(async () => {
    home = await freshDirectory();
    data = join(home, 'data');
    await mkdir(data);
    const journal = await must(openLevelJournal(join(data, 'journal')));
    const story = Array.from({ length: 90 }).reduce<ReturnType<typeof session>>(
      (now) => now.paused().resumed(),
      session({ session_id: long }).runRequested(),
    );
    const stream = recordStream(story, story.events);
    await storeStream(journal, stream);
    for (const version of [60, 120]) await must(journal.snapshots.put(snapshotAt(stream, version)));
    await journal.close();
  });
  afterAll(() => rm(home, { recursive: true }));

  test('compares each with the fold of the stream', async () => {
    const [code, line] = await verified();
    expect(code).toBe(0);
    expect(line).toMatchObject({ verified: true, events: 181, snapshots: { checked: 2, bad: [] } });
  });

  test.each([
    ['is damaged', (bytes: Buffer) => bytes.fill(0x20, 300, 310)],
    ['is cut short', (bytes: Buffer) => bytes.subarray(0, 500)],
    ['has another chain value', (bytes: Buffer) => bytes.fill(1, bytes.indexOf('5820', 'hex') + 36, 80)],
  ])('names the first one that %s', async (_name, damage) => {
    const path = join(directory(), '60.snapshot');
    const good = await readFile(path);
    await writeFile(path, damage(Buffer.from(good)));
    const [code, line] = await verified();
    await writeFile(path, good);
    expect(code).toBe(1);
    expect(line).toMatchObject({ verified: false, events: 181, fault: { position: 59, what: 'snapshot' } });
    expect(line?.['snapshots']).toMatchObject({ checked: 2, bad: [{ version: 60 }] });
  });

  test('names a snapshot beyond the end of the stream, and succeeds once it is deleted', async () => {
    await writeFile(join(directory(), '500.snapshot'), await readFile(join(directory(), '60.snapshot')));
    const [code, line] = await verified();
    expect(code).toBe(1);
    expect(line?.['fault']).toMatchObject({ what: 'snapshot', position: 499 });
    await rm(directory(), { recursive: true });
    expect((await verified())[1]).toMatchObject({ verified: true, snapshots: { checked: 0, bad: [] } });
  });
});
