// Each picture has a table with the same facts, which the keyboard reaches: the bar over all positions, the plan of a batch,
// and the times of a turn.
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Opened, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';
import { visitAll } from '../support/page/visit.ts';

const FIXTURES = ['demo', 'cancelled-batch'];
const pathOf = (name: string): string =>
  new URL(`../../replay-fixtures/${name}/session.jsonl`, import.meta.url).pathname;

let browser: Browser;
let served: ServedPage;
let opened: Opened;

beforeAll(async () => {
  browser = await openBrowser();
  served = await servePage();
  opened = await openPage(browser, await served.address());
});
afterAll(async () => {
  await browser.close();
  await served.close();
});

const textsOf = (page: Page, selector: string): Promise<readonly string[]> =>
  page.locator(selector).evaluateAll((all) => all.map((one) => one.textContent.replaceAll(/\s+/g, ' ').trim()));

test('every picture of every screen is one of the three', async () => {
  const base = await opened.openFile(pathOf('demo'));
  let pictures = 0;
  await visitAll(opened, base, async (screen) => {
    const others = await opened.page.locator('main svg, main img, main canvas').count();
    const known = await opened.page.locator('main .bar svg, main .plan svg, main .times svg').count();
    expect(others, `on ${screen}`).toBe(known);
    pictures += known;
  });
  expect(pictures).toBeGreaterThan(3);
});

test('the bar: its table sums up to the counts, and is opened by the keyboard', async () => {
  const { page } = opened;
  await opened.openFile(pathOf('demo'));
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  const summary = page.locator('.bar details.marks summary');
  await summary.waitFor();
  await summary.focus();
  await page.keyboard.press('Enter');
  await page.locator('.bar table').waitFor();
  const [, ...kinds] = await textsOf(page, '.bar thead th');
  const sums = kinds.map(() => 0);
  const rows = await page.locator('.bar tbody tr').all();
  for (const row of rows) {
    const cells = await row.locator('td').allInnerTexts();
    for (const [at, cell] of cells.entries()) sums[at] = (sums[at] ?? 0) + Number(cell);
  }
  expect(kinds.map((kind, at) => `${kind} ${sums[at]}`).join(' · ')).toBe(await summary.innerText());
  // What the picture draws is what the table counts.
  const drawn = await page
    .locator('.bar path.mark')
    .evaluateAll((all) => all.filter((one) => one.getAttribute('d') !== '').map((one) => one.getAttribute('class')));
  expect(drawn.map((name) => name?.replace('mark is-', ''))).toEqual(kinds);
});

test.each(FIXTURES)('the plans and times of replay-fixtures/%s', async (name) => {
  const { page, go } = opened;
  const base = await opened.openFile(pathOf(name));
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  await page.locator('article.turn').first().waitFor();
  const turns = await page
    .locator('article.turn h2 a')
    .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
  let seen = 0;
  for (const turn of turns) {
    await go(base);
    await page.locator('article.turn').first().waitFor();
    await go(turn ?? '');
    await page.locator('h1', { hasText: 'Turn' }).waitFor();
    await page.locator('main details summary', { hasText: 'offered' }).waitFor();
    const nodes = await textsOf(page, '.plan svg .node');
    const rows = await textsOf(page, '.plan tbody tr');
    for (const node of nodes) {
      const [, id = '', status = ''] = /(\S+) · (\w+)/.exec(node.replace(/^\S+? /, '')) ?? [];
      expect(rows.filter((row) => row.includes(id) && row.includes(status)).length, `rows of ${node}`).toBeGreaterThan(
        0,
      );
    }
    for (const why of await textsOf(page, '.plan svg .edge title')) {
      expect(rows.filter((row) => row.includes(why)).length, `rows of ${why}`).toBeGreaterThan(0);
    }
    expect(await textsOf(page, '.times td:nth-child(3)')).toEqual(await textsOf(page, '.times svg .span title'));
    seen += nodes.length;
    if (nodes.length > 0) expect(await page.locator('.plan .scrolls[tabindex="0"] table').count()).toBe(1);
  }
  expect(seen).toBeGreaterThan(0);
});
