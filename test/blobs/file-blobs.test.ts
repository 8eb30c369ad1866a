import { mkdir, readFile, readdir, rm, stat, symlink, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { must } from '../../src/client/must.ts';
import { blobsContract } from '../support/journal/blobs-contract.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { inTemporaryDirectory, temporaryDirectory } from '../support/journal/temporary-directory.ts';

blobsContract('blobs in files', async () => {
  const { directory, remove } = await temporaryDirectory();
  let blobs = await must(openFileBlobs(directory));
  return {
    blobs,
    reopen: async () => {
      await blobs.close();
      blobs = await must(openFileBlobs(directory));
      return blobs;
    },
    dispose: async () => {
      await blobs.close();
      await remove();
    },
  };
});

const bytes = new TextEncoder().encode('some bytes');
const ref = digestText(bytes);

function pathOf(directory: string, digest: Digest): string {
  const hex = digest.slice('sha256:'.length);
  return join(directory, hex.slice(0, 2), hex.slice(2, 4), hex);
}

describe('blobs in files', () => {
  test('lie at the path of their digest, accessible to their owner only, with no temporary file left', () =>
    inTemporaryDirectory(async (base) => {
      const directory = join(base, 'deeper', 'blobs');
      const blobs = await must(openFileBlobs(directory));
      await must(blobs.put(bytes));
      const path = pathOf(directory, ref);
      expect(new Uint8Array(await readFile(path))).toEqual(bytes);
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      for (let above = dirname(path); above !== base; above = dirname(above)) {
        expect((await stat(above)).mode & 0o777).toBe(0o700);
      }
      expect(await readdir(join(directory, 'tmp'))).toEqual([]);
      await blobs.close();
    }));

  test('are not rewritten when they are whole', () =>
    inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      await must(blobs.put(bytes));
      const before = await stat(pathOf(directory, ref));
      await utimes(pathOf(directory, ref), 1, 1);
      expect(await must(blobs.lastPut(ref))).toBe(1_000);
      await must(blobs.put(bytes));
      const after = await stat(pathOf(directory, ref));
      expect(after.ino).toBe(before.ino);
      // Putting it again counts as a use.
      expect(await must(blobs.lastPut(ref))).toBeGreaterThan(1_000);
      await blobs.close();
    }));

  test('are reported as damaged, and replaced when they are put again', () =>
    inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      const path = pathOf(directory, ref);
      const damages: readonly (() => Promise<unknown>)[] = [
        () => writeFile(path, 'other byte'),
        () => truncate(path, 3),
        () => truncate(path, 0),
        () => truncate(path, BLOB_BYTES_MAX + 1),
        async () => {
          await rm(path);
          await symlink('/etc/hostname', path);
        },
      ];
      for (const damage of damages) {
        await must(blobs.put(bytes));
        await damage();
        expect((await refusal(blobs.get(ref))).code).toBe('damaged');
        expect(await must(blobs.put(bytes))).toBe(ref);
        expect(new Uint8Array(await must(blobs.get(ref)))).toEqual(bytes);
        expect((await stat(path)).mode & 0o777).toBe(0o600);
      }
      await blobs.close();
    }));

  test('are damaged when any bit is flipped', () =>
    inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      await must(blobs.put(bytes));
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const flipped = Uint8Array.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        await writeFile(pathOf(directory, ref), flipped);
        expect(await outcome(blobs.get(ref))).toBe('damaged');
      }
      await blobs.close();
    }));

  test('are opened without the files of interrupted writes', () =>
    inTemporaryDirectory(async (directory) => {
      await mkdir(join(directory, 'tmp', 'nested'), { recursive: true });
      await writeFile(join(directory, 'tmp', 'half-written'), 'half');
      await writeFile(join(directory, 'tmp', 'nested', 'another'), 'half');
      const blobs = await must(openFileBlobs(directory));
      expect(await readdir(join(directory, 'tmp'))).toEqual([]);
      await blobs.close();
    }));

  test('are listed without other files', () =>
    inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      await must(blobs.put(bytes));
      const misplaced = dirname(pathOf(directory, ref));
      await writeFile(join(misplaced, digestText('elsewhere').slice(7)), '');
      await writeFile(join(misplaced, 'notes.txt'), '');
      await writeFile(join(directory, 'README'), '');
      const refs = [];
      for await (const found of blobs.list()) refs.push(found);
      expect(refs).toEqual([ref]);
      await blobs.close();
    }));

  test('work again after the file system has refused a write', () =>
    inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      const outer = dirname(dirname(pathOf(directory, ref)));
      await writeFile(outer, 'a file where a directory should be');
      expect(await outcome(blobs.put(bytes))).toBe('storage_failed');
      expect(await readdir(join(directory, 'tmp'))).toEqual([]);
      await rm(outer);
      expect(await must(blobs.put(bytes))).toBe(ref);
      await blobs.close();
      expect(await outcome(openFileBlobs(pathOf(directory, ref)))).toBe('storage_failed');
    }));
});
