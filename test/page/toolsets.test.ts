// The definitions of a toolset that wait, on the screen of the tools in a real browser: they are read before they are approved.
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';

let browser: Browser;
let served: ServedPage;

beforeEach(async () => {
  browser = await openBrowser();
  served = await servePage();
  const { talk } = served.world;
  await talk.create();
  const tools = [
    { ...toolsetTool('skill.comment', 0), definition: { text: '{"description":"Writes.\u202E And sends."}' } },
  ];
  await talk.submit([{ kind: 'ToolsetSet', toolset: 'skill', owner: 'config-1', tools }]);
});
afterEach(async () => {
  await browser.close();
  await served.close();
});

const TOOLS = '#/session/s-1/tools';

test('a definition is shown with its marks, approved, and then waits no more', async () => {
  const opened = await openPage(browser, await served.address());
  const { page, go } = opened;
  await go(TOOLS);
  const card = page.getByRole('article', { name: 'toolset skill' });
  await card.locator('.diff .added', { hasText: 'Writes.<U+202E> And sends.' }).waitFor();
  await page.evaluate(axe.source);
  const faults = await page.evaluate<string[]>(
    `axe.run(document).then(({ violations }) => violations.map(({ id }) => id))`,
  );
  expect(faults).toEqual([]);
  // It takes a press only after it was seen at its place for a while.
  while (await card.isVisible()) {
    await card
      .getByRole('button', { name: 'approve 1 definition' })
      .click({ timeout: 2_000 })
      .catch(() => undefined);
    await card.waitFor({ state: 'detached', timeout: 2_000 }).catch(() => undefined);
  }
  const { toolsets = {} } = await served.world.talk.state();
  expect(toolsets['skill']?.pins).toEqual(toolsets['skill']?.tools);
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test('a page that may only read shows the definition, and no way to approve it', async () => {
  const opened = await openPage(browser, await served.address('viewer'));
  await opened.go(TOOLS);
  const card = opened.page.getByRole('article', { name: 'toolset skill' });
  await card.locator('.diff .added').first().waitFor();
  expect(await card.locator('button').count()).toBe(0);
  await opened.close();
});
