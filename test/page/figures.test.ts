// What a long stream costs the page: the first paint, the fold beside the same bundle in Node, tasks of the main thread, frames
// while it scrolls, ways to a position, and memory. The figures of a loaded machine mean little, so only `npm run bench:page`
// holds them to the limits; the tests of every run hold what does not depend on time.
import { execFile } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { benchGenesis, recordStream } from '../../bench/stream.ts';
import { benchPackage } from '../../bench/tools.ts';
import { brand } from '../../schemas/index.ts';
import { linesOf, recordsOf } from '../audit/records.ts';
import { Talk } from '../support/engine/world.ts';
import { type Opened, PAGE, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';
import { WATCH, heapOf, mainThreadTasks, median, notedIn, p95, scrollFrames } from '../support/page/measure.ts';

const MEASURES = process.env['REFOLD_PAGE_FIGURES'] === '1';
const EVENTS = MEASURES ? 100_000 : 3_000;
const ROWS = MEASURES ? 1_000_000 : 30_000;
const ROUNDS = MEASURES ? 3 : 1;
const FRAMES = MEASURES ? 240 : 20;
/** Events of one commit of the stream of many rows. */
const GROUP = 100;

let browser: Browser;
let served: ServedPage;
let directory: string;
let path: string;
let opened: Opened;
let base: string;

const events = [...recordStream(benchGenesis('long'), EVENTS)].map(({ event }) => event);

function longStream(): string {
  const sizes = Array.from({ length: EVENTS }, () => 16);
  return linesOf(recordsOf({ genesis: benchGenesis('long'), tool_package: benchPackage(), events }, sizes));
}

/** A stream of so many rows. Its digests are those of another one: rows are shown before they are checked. */
function* manyRows(): Generator<string> {
  const [tools, genesis, commit] = linesOf(
    recordsOf({ genesis: benchGenesis('rows'), tool_package: benchPackage(), events: events.slice(0, 1) }),
  ).split('\n');
  yield `${tools}\n${genesis}\n`;
  const {
    events: [event],
    ...rest
  } = JSON.parse(commit ?? '') as { readonly events: readonly object[] };
  const group = Array.from({ length: GROUP }, () => event);
  for (let position = 0; position < ROWS; position += group.length) {
    yield `${JSON.stringify({ ...rest, position, events: group })}\n`;
  }
}

/** Prints a figure beside its limit, and holds it to the limit where figures mean something. */
function figure(
  what: string,
  value: number,
  unit: string,
  limit: { readonly most: number } | { readonly least: number },
): void {
  const [kind, bound] = 'most' in limit ? (['most', limit.most] as const) : (['least', limit.least] as const);
  const shown = value < 10 ? value.toFixed(2) : value.toFixed(0);
  process.stdout.write(`${EVENTS} events: ${what} ${shown}${unit} (at ${kind} ${bound}${unit})\n`);
  expect(value).toBeGreaterThan(0);
  if (!MEASURES) return;
  if (kind === 'most') expect.soft(value, `figure: ${what}`).toBeLessThanOrEqual(bound);
  else expect.soft(value, `figure: ${what}`).toBeGreaterThanOrEqual(bound);
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'refold-page-'));
  path = join(directory, 'long.jsonl');
  await writeFile(path, longStream());
  browser = await openBrowser();
  served = await servePage();
}, 600_000);
afterAll(async () => {
  await opened?.close();
  await browser.close();
  await served.close();
  await rm(directory, { recursive: true, force: true });
});

const foldInNode = async (): Promise<number> => {
  const script = fileURLToPath(new URL('../support/page/fold-in-node.mjs', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, `${PAGE}worker.js`, path]);
  const { ms, folded } = JSON.parse(stdout) as { readonly ms: number; readonly folded: number };
  expect(folded).toBe(EVENTS);
  return ms;
};

/** Opens the stream in a tab of its own, and waits until it is folded. */
async function foldInPage(): Promise<number> {
  opened = await openPage(browser, await served.address(), { script: WATCH });
  const { page } = opened;
  base = await opened.openFile(path);
  await page.locator('.facts .verdict.good').nth(1).waitFor({ timeout: 400_000 });
  const noted = await notedIn(page);
  return (noted.folded ?? Infinity) - (noted.opened ?? 0);
}

test('the page paints its frame before the first record', async () => {
  const [painted, answered]: [number[], number[]] = [[], []];
  const talk = new Talk(served.world.engine.client, brand<'SessionId'>('short'));
  await talk.create();
  for (let round = 0; round < ROUNDS; round += 1) {
    const tab = await openPage(browser, `${await served.address()}&session=short`, { script: WATCH });
    await tab.page.locator('.facts .verdict.good').nth(1).waitFor();
    const noted = await notedIn(tab.page);
    painted.push(noted.painted ?? Infinity);
    answered.push(noted.answered ?? 0);
    await tab.close();
  }
  process.stdout.write(`the first record of a short session after ${median(answered).toFixed(0)} ms\n`);
  figure('the frame is painted after', median(painted), ' ms', { most: Math.round(median(answered)) });
  expect(painted.length).toBe(ROUNDS);
});

test('the page folds as fast as its bundle does in Node, and its main thread is free meanwhile', async () => {
  const [inNode, inPage]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    inNode.push(await foldInNode());
    await opened?.close();
    inPage.push(await foldInPage());
    const { blocked } = await notedIn(opened.page);
    process.stdout.write(`tasks over 50 ms of the clock: ${blocked.map((ms) => ms.toFixed(0)).join(', ')}\n`);
  }
  // From the start of the page on. Traced by itself: tracing costs the fold some of its speed.
  const traced = await openPage(browser, await served.address());
  const [longest = 0] = await mainThreadTasks(browser, traced.page, async () => {
    await traced.page.reload();
    await traced.openFile(path);
    await traced.page.locator('.facts .verdict.good').nth(1).waitFor({ timeout: 400_000 });
  });
  await traced.close();
  figure('the fold beside Node', median(inNode) / median(inPage), ' ×', { least: 0.8 });
  figure('the main thread is busy at once for', longest, ' ms', { most: 50 });
  expect(opened.complaints).toEqual([]);
}, 900_000);

test('any position is gone to at once', async () => {
  const { page, go } = opened;
  await page.getByRole('tab', { name: 'events' }).click();
  await page.locator('aside.event h2').waitFor();
  /** Goes there, and waits for what is shown: in the page, so that the way to the page is not measured. */
  const seek = (fragment: string, selector: string, isThere: string): Promise<number> =>
    page.evaluate<number>(`new Promise((resolve) => {
      const text = () => document.querySelector(${JSON.stringify(selector)})?.textContent;
      const was = text();
      const from = performance.now();
      window.location.hash = ${JSON.stringify(fragment)};
      (function look() {
        if (${isThere}) resolve(performance.now() - from);
        else requestAnimationFrame(look);
      })();
    })`);
  const positions = Array.from({ length: 9 }, (_, seek) => ((seek + 1) * 7_919) % EVENTS);
  const toEvents: number[] = [];
  for (const position of positions) {
    toEvents.push(await seek(`${base}?at=${position}`, 'aside.event h2', `text() === 'Event ${position + 1}'`));
  }
  await go(`${base}/state?at=1`);
  await page.locator('p.note .digest').waitFor();
  const toStates: number[] = [];
  for (const position of positions) {
    toStates.push(
      await seek(`${base}/state?at=${position}`, 'p.note .digest', 'text() !== was && text() !== undefined'),
    );
  }
  figure('seek to an event in', median(toEvents), ' ms', { most: 100 });
  figure('seek to a state in', median(toStates), ' ms', { most: 100 });
  expect(toStates.length).toBe(positions.length);
});

test('the list of events scrolls as an empty page does, and only the rows that are seen exist', async () => {
  const { page, go } = opened;
  await go(base);
  await page.getByRole('tab', { name: 'events' }).click();
  await page.locator('.row .what').first().waitFor();
  const empty = await opened.page.context().newPage();
  await empty.setContent('<div id="box" style="height:576px;overflow:auto"><div style="height:2400000px"></div></div>');
  const [ofEmpty, ofPage]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    await empty.bringToFront();
    ofEmpty.push(p95(await scrollFrames(empty, '#box', FRAMES, 240)));
    await page.bringToFront();
    ofPage.push(p95(await scrollFrames(page, '.windowed', FRAMES, 240)));
  }
  await empty.close();
  process.stdout.write(
    `p95 of a frame: empty ${median(ofEmpty).toFixed(1)} ms, page ${median(ofPage).toFixed(1)} ms\n`,
  );
  figure('p95 of a frame beside an empty page', median(ofPage) / median(ofEmpty), ' ×', { most: 1.5 });
  await page.locator('.windowed').focus();
  await page.keyboard.press('End');
  const last = page.locator(`.row[aria-rowindex="${EVENTS}"]`);
  await last.locator('.what').waitFor();
  expect(await last.getAttribute('aria-selected')).toBe('true');
  expect(await page.locator('.row').count()).toBeLessThan(100);
});

test('the page and its worker stay small', async () => {
  const { page, worker } = await heapOf(opened.page);
  process.stdout.write(`memory: page ${(page / 1e6).toFixed(0)} MB, worker ${(worker / 1e6).toFixed(0)} MB\n`);
  figure('memory with the worker', (page + worker) / 1_000_000, ' MB', { most: 300 });
  if (!MEASURES) expect(page + worker).toBeLessThan(300_000_000);
  expect(opened.complaints).toEqual([]);
});

test(`the last of ${ROWS} rows is reached`, async () => {
  const rows = join(directory, 'rows.jsonl');
  await pipeline(Readable.from(manyRows()), createWriteStream(rows));
  const { page } = opened;
  await opened.openFile(rows);
  await page.getByRole('tab', { name: 'events' }).click();
  await page.locator('.row .what').first().waitFor();
  await page.locator('.windowed').focus();
  const from = performance.now();
  await page.keyboard.press('End');
  const last = page.locator(`.row[aria-rowindex="${ROWS}"]`);
  await last.locator('.what').waitFor();
  const box = await last.boundingBox();
  const list = await page.locator('.windowed').boundingBox();
  expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual((list?.y ?? 0) + (list?.height ?? 0) + 1);
  process.stdout.write(`the last of ${ROWS} rows after ${(performance.now() - from).toFixed(0)} ms\n`);
}, 300_000);
