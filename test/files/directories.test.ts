// Directories are made where they can be, by any number at once; where they cannot, that is said, and nothing waits.
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

const WAYS: readonly (readonly [string, (path: string) => Promise<void>])[] = [
  ['and synced', makeDirectory],
  ['at once', async (path) => makeDirectoryNow(path)],
];

describe.each(WAYS)('a directory that is made %s', (_how, make) => {
  test('is there with those above it, and theirs alone who made it', async () => {
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

  test('is refused where a file is in the way', async () => {
    await inTemporaryDirectory(async (directory) => {
      const file = join(directory, 'file');
      await writeFile(file, '');
      await expect(make(file)).rejects.toMatchObject({ code: 'EEXIST' });
      await expect(make(join(file, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
    });
  });

  test('is refused below a link that leads nowhere', async () => {
    await inTemporaryDirectory(async (directory) => {
      const link = join(directory, 'link');
      await symlink(join(directory, 'nowhere'), link);
      await expect(make(link)).rejects.toMatchObject({ code: 'EEXIST' });
      await expect(make(join(link, 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
    });
  });

  test.runIf(existsSync('/proc/self'))('is refused where the kernel has no room for one', async () => {
    const refused = {
      code: 'ENOENT',
      syscall: 'mkdir',
      message: 'no directory can be made in /proc; choose another place',
    };
    await expect(make('/proc/refold')).rejects.toMatchObject(refused);
    await expect(make('/proc/refold/a/b')).rejects.toMatchObject(refused);
  });
});

describe('directories that are made and synced', () => {
  test('are made by any number at once', async () => {
    await inTemporaryDirectory(async (directory) => {
      const paths = ['a/b/c/d', 'a/b/c/e', 'a/b', 'f'].map((path) => join(directory, path));
      await Promise.all([...paths, ...paths, ...paths].map(makeDirectory));
      for (const path of paths) expect((await stat(path)).isDirectory()).toBe(true);
    });
  });

  test('have what holds each of them synced, and nothing else', async () => {
    await inTemporaryDirectory(async (directory) => {
      await makeDirectory(join(directory, 'a', 'b'));
      expect(opened).toEqual([join(directory, 'a'), directory]);
      await makeDirectory(join(directory, 'a', 'b'));
      expect(opened).toHaveLength(2);
    });
  });
});
