// Every recorded session, opened as a file, is folded in the browser to the digest that `refold replay` prints.
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { jsonLines, refold } from '../support/e2e/refold.ts';
import { type Opened, type ServedPage, finalMarks, openBrowser, openPage, servePage } from '../support/page/browser.ts';

const FIXTURES = new URL('../../replay-fixtures/', import.meta.url);
const fixtures = (await readdir(FIXTURES, { withFileTypes: true }))
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

let browser: Browser;
let served: ServedPage;
let opened: Opened;
let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-page-'));
  browser = await openBrowser();
  served = await servePage();
  opened = await openPage(browser, await served.address());
});
afterAll(async () => {
  await browser.close();
  await served.close();
  await rm(directory, { recursive: true, force: true });
});

const digestOnPage = (): Promise<string> => opened.page.locator('.facts dt:has-text("state digest") + dd').innerText();

test.each(fixtures)('replay-fixtures/%s', async (name) => {
  const path = new URL(`${name}/session.jsonl`, FIXTURES).pathname;
  const [printed] = jsonLines((await refold(['replay', path, '--json'])).stdout);
  await opened.openFile(path);
  const [chain, fold, head] = await finalMarks(opened.page);
  expect([chain, fold]).toEqual([expect.stringContaining('✓'), expect.stringContaining('✓')]);
  expect(head).toContain('–');
  expect(await digestOnPage()).toBe(printed?.['state_digest']);
  expect(opened.complaints).toEqual([]);
});

test('an altered file is named by its position', async () => {
  const text = await readFile(new URL('demo/session.jsonl', FIXTURES), 'utf8');
  const altered = text.replace('The tests of this little library fail', 'The tests of this little library pass');
  expect(altered).not.toBe(text);
  const path = join(directory, 'altered.jsonl');
  await writeFile(path, altered);
  await opened.openFile(path);
  const [chain] = await finalMarks(opened.page);
  expect(chain).toContain('✗');
  await opened.page.getByRole('link', { name: 'proof' }).click();
  expect(await opened.page.locator('.verdicts .fault').first().innerText()).toContain('event 1:');
});
