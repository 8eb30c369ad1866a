import { readdir, stat, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { ensureToken, readToken, tokenCheck, tokenFile } from '../../src/server/token.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

describe('the token', () => {
  test('is created once, readable by its owner only', async () => {
    await inTemporaryDirectory(async (directory) => {
      const token = await ensureToken(directory);
      expect(token).toMatch(/^[0-9a-f]{64}$/);
      expect((await stat(tokenFile(directory))).mode & 0o777).toBe(0o600);
      expect(await ensureToken(directory)).toBe(token);
      expect(await readToken(tokenFile(directory))).toBe(token);
      expect(await readdir(directory)).toEqual(['token']);
    });
  });

  test('is the same for all processes that start at the same time', async () => {
    for (let round = 0; round < 20; round += 1) {
      await inTemporaryDirectory(async (directory) => {
        const tokens = await Promise.all(Array.from({ length: 8 }, () => ensureToken(directory)));
        expect(new Set(tokens).size).toBe(1);
        expect(await readdir(directory)).toEqual(['token']);
      });
    }
  });

  test('is never empty', async () => {
    await inTemporaryDirectory(async (directory) => {
      await writeFile(tokenFile(directory), '\n');
      await expect(ensureToken(directory)).rejects.toThrow(/contains no token/);
    });
  });

  test('is compared as a whole', () => {
    expect(tokenCheck('abc')('abc')).toBe(true);
    for (const other of ['', 'ab', 'abcd', 'abd', 'ABC']) expect(tokenCheck('abc')(other)).toBe(false);
  });
});
