// A session of 10,000 calls and of texts that are one line of a megabyte: every screen draws a bounded part of it, so that the
// main thread stays free, and hostile texts of that size change nothing outside their text nodes. How long the main thread is
// busy is held to its limit by `npm run bench:page`; the tests of every run hold what that follows from.
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { must } from '../../src/client/must.ts';
import { storeContent } from '../../src/client/store-content.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { Talk } from '../support/engine/world.ts';
import { type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';
import { mainThreadTasks } from '../support/page/measure.ts';
import { visitAll } from '../support/page/visit.ts';

const MEASURES = process.env['REFOLD_PAGE_FIGURES'] === '1';
const TURNS = 10;
const CALLS = 1_000;
const BLOCKED_MS_MAX = 50;
/** Elements that a screen may have: a browser lays out so many in a few frames. */
const ELEMENTS_MAX = 8_000;

const LINE = '<b onclick=alert(1)>\u202E'.repeat(50_000);
const harmless = (text: string): string => text.replaceAll(/[^\n]/gu, 'x');

let browser: Browser;
let served: ServedPage;

async function record(id: string, line: string): Promise<void> {
  const { client } = served.world.engine;
  const talk = new Talk(client, brand<'SessionId'>(id));
  await talk.create(undefined, CONSENT_PRESETS.allow_all);
  const long = await must(storeContent(client, line));
  for (let run = 1; run <= TURNS; run += 1) {
    const calls = Array.from({ length: CALLS }, (_, index) => ({
      call_id: `c-${index}`,
      tool_name: index % 3 === 0 ? line.slice(0, 40) : 'read',
      arguments: { n: line.slice(0, 200), path: `file-${index % 7}` },
    }));
    const run_id = `run-${run}`;
    await talk.submit([{ kind: 'RunRequested', input: long }]);
    await talk.submit([{ kind: 'ToolCallsObserved', run_id, turn: 1, content: long, calls }]);
    if (run < TURNS) await talk.submit([{ kind: 'RunCancelled', run_id, reason: line.slice(0, 200) }]);
  }
}

beforeAll(async () => {
  browser = await openBrowser();
  served = await servePage();
  await record('large-hostile', LINE);
  await record('large-harmless', harmless(LINE));
});
afterAll(async () => {
  await browser.close();
  await served.close();
});

const SKELETON = `[...document.querySelectorAll('main *')].map((one) => one.tagName + '.' + one.getAttribute('class')).join(' ')`;

test(`${TURNS * CALLS} calls and lines of a megabyte are drawn in parts, and stay texts`, async () => {
  const opened = await openPage(browser, await served.address());
  const { page, go } = opened;
  const seen: Record<string, string[]> = {};
  const tasks = await mainThreadTasks(browser, page, async () => {
    for (const id of ['large-hostile', 'large-harmless']) {
      const screens: string[] = (seen[id] = []);
      const look = async (screen: string): Promise<void> => {
        const skeleton = await page.evaluate<string>(SKELETON);
        expect(skeleton.split(' ').length, `on ${screen}`).toBeLessThan(ELEMENTS_MAX);
        screens.push(skeleton);
      };
      await go(`#/session/${id}`);
      await page
        .locator('article.turn')
        .nth(TURNS - 1)
        .waitFor();
      await visitAll(opened, `#/session/${id}`, look);
      // The long line, whole: from its blob, a page at a time.
      await go(`#/session/${id}`);
      const text = page.locator('article.turn .input .shown').first();
      await text.getByRole('button', { name: 'show more' }).click();
      await text.locator('.pager').waitFor();
      await look('the beginning of the line');
      await text.getByRole('button', { name: 'later' }).click();
      await text.locator('.pager', { hasText: /^earlier/ }).waitFor();
      await look('more of the line');
      // The last calls of a plan.
      await go(`#/session/${id}/turn/run-1/1`);
      const plan = page.locator('section.plan');
      await plan.getByRole('button', { name: 'later' }).click();
      await plan.locator('.pager', { hasText: `61 to 120 of ${CALLS.toLocaleString('en')}` }).waitFor();
      await look('more of the plan');
    }
  });
  const differ = seen['large-hostile']?.flatMap((one, at) => (one === seen['large-harmless']?.[at] ? [] : [at]));
  expect(differ).toEqual([]);
  expect(await page.title()).toBe('refold');
  expect(opened.complaints).toEqual([]);
  const [longest = 0] = tasks;
  process.stdout.write(
    `${TURNS * CALLS} calls: the main thread is busy at once for ${longest.toFixed(0)} ms (at most ${BLOCKED_MS_MAX} ms)\n`,
  );
  expect(longest).toBeLessThanOrEqual(MEASURES ? BLOCKED_MS_MAX : Infinity);
  await opened.close();
}, 240_000);
