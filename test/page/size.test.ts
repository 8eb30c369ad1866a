// The page and its worker with all of refold/core, as they are sent.
import { readFile, readdir } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PAGE } from '../support/page/browser.ts';

const BYTES_MAX = 150 * 1_024;

test('the page is at most 150 KB gzipped', async () => {
  const names = (await readdir(PAGE)).filter((name) => name !== 'licenses.txt');
  expect(names).toEqual(expect.arrayContaining(['index.html', 'page.js', 'styles.css', 'worker.js']));
  const sizes = await Promise.all(names.map(async (name) => gzipSync(await readFile(`${PAGE}${name}`)).length));
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(BYTES_MAX);
});
