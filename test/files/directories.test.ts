// Directories are created, also concurrently; where they cannot be, the call fails and does not hang.
import { existsSync } from 'node:fs';
import { mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { makeDirectory, makeDirectoryNow } from '../../src/files/directories.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const opened: string[] = [];

vi.mock(import('node:fs/promises'), async (load) => {
  const real = await load();
  return {
    ...real,
    open: (path, ...rest) => {
      opened.push(String(path));
      return real.open(path, ...rest);
    },
  };
});

beforeEach(() => {
  opened.length = 0;
});

const VARIANTS: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ['and synced', makeDirectory],
  ['synchronously', async (path) => makeDirectoryNow(path)],
];

describe.each(VARIANTS)('a directory created %s', (_how, make) => {
  test('exists with its parents, accessible only to the user who created it', async () => {
    await inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'a', 'b', 'c');
      await make(path);
      for (const made of [path, dirname(path)]) expect((await stat(made)).mode & 0o777).toBe(0o700);
      await expect(make(path)).resolves.toBeUndefined();
    });
  });

  test('may be reached through a link', async () => {
    await inTemporaryDirectory(async (directory) => {
      await mkdir(join(directory, 'real'));
      await symlink(join(directory, 'real'), join(directory, 'link'));
      await make(join(directory, 'link'));
      await make(join(directory, 'link', 'a'));
      expect((await stat(join(directory, 'real', 'a'))).isDirectory()).toBe(true);
    });
  });

  test('fails when a file is in the way', async () => {
    await inTemporaryDirectory(async (directory) => {
      const file = join(directory, 'file');
      await writeFile(file, '');
      await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
      await expect(make(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    });
  });

  test('fails below a dangling link', async () => {
    await inTemporaryDirectory(async (directory) => {
      const link = join(directory, 'link');
      await symlink(join(directory, 'nowhere'), link);
      await expect(make(link)).rejects.toMatchObject({ code: 'EEXIST' });
      await expect(make(join(link, 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
    });
  });

  test.runIf(existsSync('/proc/self'))('fails with a remedy where the kernel allows no directory', async () => {
    const refused = {
      code: 'ENOENT',
      syscall: 'mkdir',
      message: 'cannot create a directory in /proc; choose another path',
    };
    await expect(make('/proc/refold')).rejects.toMatchObject(refused);
    await expect(make('/proc/refold/a/b')).rejects.toMatchObject(refused);
  });
});

describe('directories created and synced', () => {
  test('can be created concurrently', async () => {
    await inTemporaryDirectory(async (directory) => {
      const paths = ['a/b/c/d', 'a/b/c/e', 'a/b', 'f'].map((path) => join(directory, path));
      await Promise.all([...paths, ...paths, ...paths].map(makeDirectory));
      for (const path of paths) expect((await stat(path)).isDirectory()).toBe(true);
    });
  });

  test('have the parent of each new entry synced, and nothing else', async () => {
    await inTemporaryDirectory(async (directory) => {
      await makeDirectory(join(directory, 'a', 'b'));
      expect(opened).toEqual([join(directory, 'a'), directory]);
      await makeDirectory(join(directory, 'a', 'b'));
      expect(opened).toHaveLength(2);
    });
  });
});
