// The example of docs/testing.md runs unchanged, from the built package.
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { readExample } from '../support/documents.ts';
import { ROOT } from '../support/e2e/refold.ts';

// Inside the package, so that `refold/testing` is the package itself.
const FOLDER = join(ROOT, 'dist/readme-testing');

test('the example of the test kit finds that all laws hold', async () => {
  const code = await readExample('testing');
  await mkdir(FOLDER, { recursive: true });
  try {
    await writeFile(join(FOLDER, 'testing.mjs'), code);
    const { stdout } = await promisify(execFile)(process.execPath, [join(FOLDER, 'testing.mjs')]);
    expect(stdout).toBe('all laws hold\n');
  } finally {
    await rm(FOLDER, { recursive: true });
  }
});
