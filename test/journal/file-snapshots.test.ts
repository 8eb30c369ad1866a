import { mkdir, readFile, readdir, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { must } from '../../src/client/must.ts';
import { openFileSnapshots } from '../../src/journal/file-snapshots.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { numbersFrom, session, snapshotOf, version } from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const a = session('a');
const pathOf = (directory: string, at: number): string => join(directory, 'a', `${at}.snapshot`);

describe('snapshots in files', () => {
  test('lie in the directory of their session, readable by their owner only, without temporary files', () =>
    inTemporaryDirectory(async (base) => {
      const directory = join(base, 'snapshots');
      const snapshots = openFileSnapshots(directory);
      expect(await must(snapshots.versions(a))).toEqual([]);
      await mkdir(join(directory, 'a'), { recursive: true });
      // The next write deletes the temporary file of an interrupted one.
      await writeFile(join(directory, 'a', 'left.tmp'), 'half');
      await must(snapshots.put(snapshotOf('a', 12)));
      expect(await readdir(join(directory, 'a'))).toEqual(['12.snapshot']);
      expect((await stat(pathOf(directory, 12))).mode & 0o777).toBe(0o600);
    }));

  test('may all be deleted at any time', () =>
    inTemporaryDirectory(async (base) => {
      const directory = join(base, 'snapshots');
      const snapshots = openFileSnapshots(directory);
      await must(snapshots.put(snapshotOf('a', 1)));
      await rm(directory, { recursive: true });
      expect(await must(snapshots.versions(a))).toEqual([]);
      expect(await must(snapshots.get(a, version(1)))).toBeNull();
      await must(snapshots.put(snapshotOf('a', 2)));
      expect(await must(snapshots.versions(a))).toEqual([2]);
    }));

  test('read as null, or as another well-formed snapshot, when their file is damaged', () =>
    inTemporaryDirectory(async (directory) => {
      const snapshots = openFileSnapshots(directory);
      const put = snapshotOf('a', 3, `"${'x'.repeat(300)}"`);
      await must(snapshots.put(put));
      const good = await readFile(pathOf(directory, 3));
      const below = numbersFrom(5);
      let nothing = 0;
      for (let flip = 0; flip < 400; flip += 1) {
        const bytes = Buffer.from(good);
        const at = below(bytes.length);
        bytes[at] = (bytes[at] ?? 0) ^ (1 << below(8));
        await writeFile(pathOf(directory, 3), bytes);
        const read: Snapshot | null = await must(snapshots.get(a, version(3)));
        expect(read).not.toEqual(put);
        if (read === null) nothing += 1;
      }
      expect(nothing).toBeGreaterThan(0);
      for (const length of [0, 1, good.length - 1]) {
        await writeFile(pathOf(directory, 3), good);
        await truncate(pathOf(directory, 3), length);
        expect(await must(snapshots.get(a, version(3)))).toBeNull();
      }
    }));

  test('read as null under the name of another session or version', () =>
    inTemporaryDirectory(async (directory) => {
      const snapshots = openFileSnapshots(directory);
      await must(snapshots.put(snapshotOf('a', 3)));
      await must(snapshots.put(snapshotOf('b', 4)));
      await writeFile(pathOf(directory, 5), await readFile(pathOf(directory, 3)));
      await writeFile(pathOf(directory, 4), await readFile(join(directory, 'b', '4.snapshot')));
      await symlink(pathOf(directory, 3), pathOf(directory, 6));
      await mkdir(pathOf(directory, 7));
      expect(await must(snapshots.versions(a))).toEqual([7, 6, 5, 4, 3]);
      for (const at of [4, 5, 6, 7]) expect(await must(snapshots.get(a, version(at)))).toBeNull();
      expect(await must(snapshots.get(a, version(3)))).toEqual(snapshotOf('a', 3));
    }));

  test('are refused as storage_failed when they cannot be written', () =>
    inTemporaryDirectory(async (directory) => {
      await writeFile(join(directory, 'a'), 'a file where the directory should be');
      expect(await outcome(openFileSnapshots(directory).put(snapshotOf('a', 1)))).toBe('storage_failed');
    }));
});
