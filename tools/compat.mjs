// Runs compat/: the package, as `npm pack` makes it, under the real SDKs, schema libraries and checkers of packages. They are
// installed there, from a lock file of their own.
//
//   npm run compat                    installs what is missing, then runs every test of compat/
//   npm run compat -- langgraph       those whose path contains the word; further arguments go to vitest
//
// Without the registry it prints what it leaves out and exits 0; with CI set it exits 1. A failed test exits 1.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder } from './compat/install.mjs';
import { unpackRefold } from './compat/unpack.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, 'compat');

const { unreachable } = installFolder(FOLDER);
if (unreachable === undefined) {
  unpackRefold(ROOT, FOLDER);
  process.exitCode = runTests(process.argv.slice(2));
} else {
  const tests = testFiles();
  process.stdout.write(
    `compat: ${tests.length} files of tests left out, because the registry cannot be reached (${[unreachable].join('')}) and ` +
      `compat/node_modules is not what compat/package-lock.json says:\n${tests.map((name) => `  ${name}\n`).join('')}` +
      `Run \`npm run compat\` again with a network.\n`,
  );
  process.exitCode = process.env.CI ? 1 : 0;
}

function runTests(args) {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const config = ['--config', join(FOLDER, 'vitest.config.ts')];
  return (
    spawnSync(process.execPath, [vitest, 'run', ...config, ...args], { cwd: FOLDER, stdio: 'inherit' }).status ?? 1
  );
}

function testFiles() {
  const names = readdirSync(FOLDER, { recursive: true }).map(String);
  const tests = names.filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'));
  return tests.toSorted((a, b) => (a < b ? -1 : 1));
}
