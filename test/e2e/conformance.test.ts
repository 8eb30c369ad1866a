// The command that checks recorded traffic, as a process: it bundles the checks, reads a folder, and fails by file and line.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execFile } from 'node:child_process';
import { expect, test } from 'vitest';
import { ROOT, freshDirectory } from '../support/e2e/refold.ts';

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const conformance = (...args: readonly string[]): Promise<Ended> =>
  new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'tools/conformance.mjs'), ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });

const answer = (choices: unknown): string =>
  JSON.stringify({ h: 'mine', api: 'openai.chat_completions', status: 200, response: { choices } });

test('a folder of one good and one bad record gives their counts, and the file and line of the bad one', async () => {
  const folder = await freshDirectory();
  await mkdir(join(folder, 'provider-recordings'));
  const said = answer([{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Hello.' } }]);
  const name = 'provider-recordings/openai.chat_completions.mine.jsonl';
  await writeFile(join(folder, name), `${said}\n${answer('none')}\n`);
  const { code, stdout } = await conformance('--corpora', folder, '--only', 'provider-recordings');
  expect(code).toBe(1);
  expect(stdout).toMatch(/records +2\n/);
  expect(stdout).toMatch(/decoded +1\n/);
  expect(stdout).toContain(`FAILED ${name}:2: `);
});

test('a folder that is named and not there is misuse', async () => {
  const { code, stderr } = await conformance('--corpora', join(await freshDirectory(), 'none'));
  expect(code).toBe(2);
  expect(stderr).toContain('usage: npm run conformance');
});
