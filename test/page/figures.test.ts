// What a long stream costs the page: its main thread is not held up while the worker folds, the reader gets to any position at
// once, and the last row is reached. The figures of a loaded machine mean little, so only `npm run bench:page` holds them to the
// limits; the tests of every run hold what does not depend on time.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { benchGenesis, recordStream } from '../../bench/stream.ts';
import { benchPackage } from '../../bench/tools.ts';
import { linesOf, recordsOf } from '../audit/records.ts';
import { type Opened, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';

const MEASURES = process.env['REFOLD_PAGE_FIGURES'] === '1';
const EVENTS = MEASURES ? 100_000 : 3_000;
const BLOCKED_MS_MAX = 50;
const SEEK_MS_MAX = 100;
const HEAP_MB_MAX = 300;

let browser: Browser;
let served: ServedPage;
let opened: Opened;
let directory: string;
let path: string;

function longStream(): string {
  const genesis = benchGenesis('long');
  const events = [...recordStream(genesis, EVENTS)].map(({ event }) => event);
  const sizes = Array.from({ length: EVENTS }, () => 16);
  return linesOf(recordsOf({ genesis, tool_package: benchPackage(), events }, sizes));
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-page-'));
  path = join(directory, 'long.jsonl');
  await writeFile(path, longStream());
  browser = await openBrowser();
  served = await servePage();
  opened = await openPage(browser, await served.address());
}, 600_000);
afterAll(async () => {
  await browser.close();
  await served.close();
  await rm(directory, { recursive: true, force: true });
});

/** How long the main thread was busy with one task, in milliseconds; each task over 50 ms. */
const WATCH = `window.blocked = []; new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.blocked.push(duration);
}).observe({ type: 'longtask' });`;

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Infinity;

test(`${EVENTS} events are folded, any of them is gone to, and the last row is reached`, async () => {
  const { page, go } = opened;
  await page.evaluate(WATCH);
  const base = await opened.openFile(path);
  await page.locator('.facts .verdict.good').nth(1).waitFor({ timeout: 400_000 });
  const blocked = await page.evaluate<number[]>('window.blocked');
  await page.getByRole('tab', { name: 'events' }).click();
  const seeks: number[] = [];
  for (let seek = 1; seek <= 9; seek += 1) {
    const position = (seek * 7_919) % EVENTS;
    const from = performance.now();
    await go(`${base}?at=${position}`);
    await page.locator('aside.event h2', { hasText: new RegExp(`^Event ${position}$`) }).waitFor();
    seeks.push(performance.now() - from);
  }
  await page.locator('.windowed').focus();
  await page.keyboard.press('End');
  const last = page.locator(`.row[aria-rowindex="${EVENTS}"]`);
  await last.locator('.what').waitFor();
  expect(await last.getAttribute('aria-selected')).toBe('true');
  const rows = await page.locator('.row').count();
  expect(rows).toBeLessThan(100);
  expect(opened.complaints).toEqual([]);
  const heap = await page.evaluate<number>('gc(), performance.memory.usedJSHeapSize / 1_000_000');
  const longest = Math.max(0, ...blocked);
  process.stdout.write(
    `${EVENTS} events: main thread blocked ${longest.toFixed(0)} ms at most, seek ${median(seeks).toFixed(0)} ms, ` +
      `heap of the main thread ${heap.toFixed(0)} MB\n`,
  );
  const limits = MEASURES ? [BLOCKED_MS_MAX, SEEK_MS_MAX] : [Infinity, Infinity];
  expect(longest).toBeLessThanOrEqual(limits[0] ?? 0);
  expect(median(seeks)).toBeLessThanOrEqual(limits[1] ?? 0);
  expect(heap).toBeLessThanOrEqual(HEAP_MB_MAX);
}, 900_000);
