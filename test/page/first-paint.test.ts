// The page paints before the first record: its frame stands while the engine still owes every answer. `npm run bench:page` says
// how long before.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { Talk } from '../support/engine/world.ts';
import { type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';

let browser: Browser;
let served: ServedPage;

beforeAll(async () => {
  browser = await openBrowser();
  served = await servePage();
  const talk = new Talk(served.world.engine.client, brand<'SessionId'>('late'));
  await talk.create();
  await talk.submit([{ kind: 'RunRequested', input: { text: 'go on' } }]);
});
afterAll(async () => {
  await browser.close();
  await served.close();
});

/** Resolves when the browser has painted what is in the document now. */
const PAINTED = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

test('the page paints its frame while the records are held back, and shows them when they come', async () => {
  const opened = await openPage(browser, await served.address());
  const { page, go } = opened;
  let release = (): void => undefined;
  const held: string[] = [];
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.context().route('**/v1/**', async (route) => {
    held.push(new URL(route.request().url()).pathname);
    await released;
    await route.continue();
  });
  await page.reload();
  await page.getByRole('navigation', { name: 'main' }).waitFor();
  await page.locator('h1', { hasText: 'Sessions' }).waitFor();
  await page.evaluate(PAINTED);
  await go('#/session/late');
  await page.getByRole('navigation', { name: 'session' }).waitFor();
  await page.locator('main', { hasText: 'opening …' }).waitFor();
  await page.evaluate(PAINTED);
  // The browser says so a moment later.
  await page.waitForFunction("performance.getEntriesByName('first-contentful-paint').length === 1");
  expect(held.length).toBeGreaterThan(0);
  expect(await page.locator('.facts').count()).toBe(0);
  release();
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  expect(opened.complaints).toEqual([]);
  await opened.close();
});
