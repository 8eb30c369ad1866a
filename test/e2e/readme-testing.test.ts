// The README's example of the test kit runs as it stands there, from the built package.
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../support/e2e/refold.ts';

// Inside the package, so that `refold/testing` is the package itself.
const FOLDER = join(ROOT, 'dist/readme-testing');

test('the example of the test kit holds', async () => {
  const readme = await readFile(join(ROOT, 'README.md'), 'utf8');
  const code = /<!-- example: testing -->\n```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? 'process.exit(3)';
  await mkdir(FOLDER, { recursive: true });
  try {
    await writeFile(join(FOLDER, 'testing.mjs'), code);
    const { stdout } = await promisify(execFile)(process.execPath, [join(FOLDER, 'testing.mjs')]);
    expect(stdout).toBe('all laws hold\n');
  } finally {
    await rm(FOLDER, { recursive: true });
  }
});
