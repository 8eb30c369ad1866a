// Runs compat/: the package, as `npm pack` makes it, under the real SDKs, schema libraries and checkers of packages. They are
// installed there, from a lock file of their own. Then those of the AI SDK once more, with its version 7, on a newer Node.
//
//   npm run compat                    installs what is missing, then runs every test of compat/
//   npm run compat -- langgraph       those whose path contains the word; further arguments go to vitest
//   npm run compat -- overhead        measures what a durable loop costs, beside other ways to make one: compat/overhead/
//
// Without the registry it prints what it leaves out and exits 0; with CI set it exits 1. A failed test exits 1.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installFolder } from './compat/install.mjs';
import { unpackRefold } from './compat/unpack.mjs';
import { findRuntime } from './determinism/runtimes.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = join(ROOT, 'compat');
const args = process.argv.slice(2);

if (isInstalled(FOLDER, testFiles())) {
  unpackRefold(ROOT, FOLDER);
  if (args[0] === 'overhead') measureOverhead();
  else {
    runTests(process.execPath, FOLDER);
    await runOnNewerNode();
  }
}

function measureOverhead() {
  const folder = join(FOLDER, 'overhead');
  if (!isInstalled(folder, ['overhead'])) return;
  const { status } = spawnSync(process.execPath, [join(folder, 'main.mjs')], { cwd: folder, stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

/** The tests of the AI SDK on a Node that its version 7 declares: the one that `npm run determinism` fetches. */
async function runOnNewerNode() {
  const tests = testFiles().filter((name) => name === 'ai-sdk/loop.test.ts');
  const words = args.filter((word) => !word.startsWith('-'));
  if (words.length > 0 && !tests.some((name) => words.some((word) => name.includes(word)))) return;
  const newer = join(FOLDER, 'ai-7');
  const node = await findRuntime('node24', false);
  if (node.skipped !== undefined) leaveOut(tests, node.skipped);
  else if (isInstalled(newer, tests)) runTests(node.path, newer);
}

function isInstalled(folder, tests) {
  const { unreachable } = installFolder(folder);
  if (unreachable === undefined) return true;
  leaveOut(tests, `the registry cannot be reached (${unreachable}), and ${folder} has not what its lock file says`);
  return false;
}

function leaveOut(tests, why) {
  const lines = tests.map((name) => `  ${name}\n`).join('');
  process.stdout.write(
    `compat: ${tests.length} files of tests left out: ${why}\n${lines}Run it again with a network.\n`,
  );
  if (process.env.CI) process.exitCode = 1;
}

/** Sets the exit code when a test fails. */
function runTests(node, folder) {
  const vitest = join(dirname(createRequire(import.meta.url).resolve('vitest/package.json')), 'vitest.mjs');
  const config = ['--config', join(folder, 'vitest.config.ts')];
  const { status } = spawnSync(node, [vitest, 'run', ...config, ...args], { cwd: FOLDER, stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}

function testFiles() {
  const names = readdirSync(FOLDER, { recursive: true }).map(String);
  const tests = names.filter((name) => name.endsWith('.test.ts') && !name.includes('node_modules'));
  return tests.toSorted((a, b) => (a < b ? -1 : 1));
}
