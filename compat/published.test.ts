// What is published: each sub-path resolves, has declarations, and loads where nothing is installed but the dependencies
// that package.json names.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { COMPAT, type Consumer, SUB_PATHS, TARBALL, openConsumer, runNode } from './support/consumer.ts';

/** Sub-paths that load only where their peer is installed. */
const NEEDS_PEER: Readonly<Record<string, readonly string[]>> = { 'refold/testing': ['fast-check'] };

const checker = (path: string): string => join(COMPAT, 'node_modules', path);
let alone: Consumer;
let withPeers: Consumer;

beforeAll(async () => {
  [alone, withPeers] = await Promise.all([openConsumer([]), openConsumer(Object.values(NEEDS_PEER).flat())]);
});

afterAll(() => Promise.all([alone.remove(), withPeers.remove()]));

test('publint finds nothing', async () => {
  const { code, printed } = await runNode([checker('publint/src/cli.js'), '--strict', TARBALL], COMPAT);
  expect(printed).toContain('All good!');
  expect(code).toBe(0);
});

// The package has ES modules only: what `require` and the resolution before `exports` would find is not asked.
test('"are the types wrong" finds nothing in any sub-path', async () => {
  const args = [TARBALL, '--profile', 'esm-only', '--no-color', '--no-emoji'];
  const { code, printed } = await runNode([checker('@arethetypeswrong/cli/dist/index.js'), ...args], COMPAT);
  for (const path of SUB_PATHS) expect(printed).toContain(`"${path}"`);
  expect(code).toBe(0);
});

test.each(SUB_PATHS)('%s loads with the dependencies of the package alone', async (path) => {
  const { folder } = NEEDS_PEER[path] === undefined ? alone : withPeers;
  const code = `const all = await import('${path}'); if (Object.keys(all).length === 0) process.exit(3);`;
  expect(await runNode(['--input-type=module', '-e', code], folder)).toEqual({ code: 0, printed: '' });
});
