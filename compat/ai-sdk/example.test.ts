// The example of the AI SDK, with the SDK of this folder and the package as it is published.
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { COMPAT, ROOT } from '../support/consumer.ts';

const EXAMPLE = join(ROOT, 'examples/ai-sdk-refund');
// Below node_modules, so that its packages are found there and nothing is installed.
const CACHE = join(COMPAT, 'node_modules/.cache');

test('killed in a refund and started again: each refund once, and no turn is asked again', async () => {
  const folder = await mkdtemp(join(CACHE, 'example-'));
  const isOwn = (path: string): boolean => !path.startsWith(join(EXAMPLE, 'node_modules'));
  await cp(EXAMPLE, folder, { recursive: true, filter: isOwn });
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'main.mjs')]);
  await rm(folder, { recursive: true });
  expect(stdout).toContain('first start: killed by SIGKILL');
  expect(stdout).toMatch(/refund_order-41: .*outcome_unknown.*\nrefund_order-42: order 42 is refunded\n/);
  expect(stdout).toContain('refunds that happened: 41, 42\nthe model was asked: turn 1, turn 2, turn 3\n');
});

test('its versions are those of this folder', async () => {
  const read = async (file: string) =>
    JSON.parse(await readFile(file, 'utf8')) as Record<string, Readonly<Record<string, string>>>;
  const [example, compat] = await Promise.all([
    read(join(EXAMPLE, 'package.json')),
    read(join(COMPAT, 'package.json')),
  ]);
  expect(compat?.['devDependencies']).toMatchObject(example?.['dependencies'] ?? {});
});
