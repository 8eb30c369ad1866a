// Every screen, light and dark: axe-core finds nothing, the keyboard reaches what can be done, and hostile texts stay texts.
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { Talk } from '../support/engine/world.ts';
import { newAsking } from '../support/inspector.ts';
import { OPERATOR, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';
import { visitAll } from '../support/page/visit.ts';

const DEMO = new URL('../../replay-fixtures/demo/session.jsonl', import.meta.url).pathname;

/** What a model may say: markup, addresses, a change of direction, control characters, and one line of a megabyte. */
const HOSTILE = [
  '<img src=x onerror="document.title=1"><script>document.title=1</script><a href="javascript:alert(1)">x</a>',
  'https://example.com/ \u202Egpj.exe\u202C \u2066x\u2069 \u001B[2J \u0000 &lt;b&gt; ${1} {{1}}',
].join('\n');
const LONG = '<b>'.repeat(350_000);
/** Marks that change how a reader sees the text around them; each must be shown as what it is. */
const MARKS = ['\u202E', '\u202C', '\u2066', '\u2069', '\u001B', '\u0000'];
const harmless = (text: string): string => text.replaceAll(/[^\n]/gu, 'x');

let browser: Browser;
let served: ServedPage;

async function record(id: string, text: string, long: string): Promise<void> {
  const talk = new Talk(served.world.engine.client, brand<'SessionId'>(id));
  await talk.create(undefined, CONSENT_PRESETS.allow_all);
  await talk.submit([{ kind: 'RunRequested', input: { text } }]);
  await talk.submit([
    {
      kind: 'ToolCallsObserved',
      run_id: 'run-1',
      turn: 1,
      content: { text },
      calls: [
        { call_id: 'c-1', tool_name: 'read', arguments: { n: text } },
        { call_id: 'c-2', tool_name: 'read', arguments: { n: long.slice(0, 60_000) } },
        { call_id: 'c-3', tool_name: 'asks', arguments: { n: text } },
        { call_id: 'c-4', tool_name: text.slice(0, 40), arguments: {} },
      ],
    },
  ]);
}

beforeAll(async () => {
  browser = await openBrowser();
  served = await servePage();
  await record('hostile', HOSTILE, LONG);
  await record('harmless', harmless(HOSTILE), harmless(LONG));
});
afterAll(async () => {
  await browser.close();
  await served.close();
});

/** What axe-core finds, each with the first element. */
const FAULTS = `axe.run(document).then(({ violations }) =>
  violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`;

describe.each(['light', 'dark'] as const)('%s', (colorScheme) => {
  test('axe-core finds nothing on any screen', async () => {
    const opened = await openPage(browser, await served.address(), { colorScheme });
    const { page, go } = opened;
    await page.evaluate(axe.source);
    const faults: string[] = [];
    const look = async (screen: string): Promise<void> => {
      faults.push(...(await page.evaluate<string[]>(FAULTS)).map((fault) => `${screen}: ${fault}`));
    };
    await page.locator('table.sessions').waitFor();
    await look('sessions');
    await go('#/waiting');
    await page.locator('article.question').first().waitFor();
    await look('waiting');
    await visitAll(opened, '#/session/hostile', look);
    const file = await opened.openFile(DEMO);
    await visitAll(opened, file, look);
    await go(`#/compare?a=hostile&b=${file.split('/')[2] ?? ''}`);
    await page.locator('section[aria-label=comparison]').waitFor();
    await look('compare');
    expect(faults).toEqual([]);
    expect(opened.complaints).toEqual([]);
    await opened.close();
  });
});

test('hostile texts change nothing outside their text nodes', async () => {
  const opened = await openPage(browser, await served.address());
  const { page } = opened;
  const elsewhere: string[] = [];
  page.on('request', (request) => {
    if (!request.url().startsWith(`${served.serving.url}/`)) elsewhere.push(request.url());
  });
  // The elements with their classes, and no texts: a text that is only a text cannot change them.
  const skeleton = `[...document.querySelectorAll('main *')].map((one) => one.tagName + '.' + one.getAttribute('class')).join(' ')`;
  const seen: Record<string, string[]> = {};
  for (const id of ['hostile', 'harmless']) {
    const screens: string[] = (seen[id] = []);
    await visitAll(opened, `#/session/${id}`, async () => {
      screens.push(await page.evaluate<string>(skeleton));
      const text = await page.evaluate<string>('document.body.textContent');
      expect(MARKS.filter((mark) => text.includes(mark))).toEqual([]);
      const targets = await page.evaluate<string[]>(
        '[...document.querySelectorAll("a")].map((one) => one.getAttribute("href"))',
      );
      expect(targets.filter((target) => !target.startsWith('#'))).toEqual([]);
    });
  }
  expect(seen['hostile']).toEqual(seen['harmless']);
  expect(await page.title()).toBe('refold');
  expect(elsewhere).toEqual([]);
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test('the keyboard reaches the sessions, the slider, the tabs and every row', async () => {
  const opened = await openPage(browser, await served.address());
  const { page } = opened;
  const isHere = (selector: string): Promise<boolean> =>
    page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`);
  async function tabTo(selector: string): Promise<void> {
    await page.locator(selector).first().waitFor();
    for (let presses = 0; presses < 80; presses += 1) {
      if (await isHere(selector)) return;
      await page.keyboard.press('Tab');
    }
    expect.fail(`Tab does not reach ${selector}`);
  }
  await tabTo('a[href="#/session/hostile"]');
  await page.keyboard.press('Enter');
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  await tabTo('.bar input[type=range]');
  await page.keyboard.press('Home');
  await page.waitForURL(/at=0$/);
  await page.keyboard.press('ArrowRight');
  await page.waitForURL(/at=1$/);
  await tabTo('[role=tab]:nth-of-type(2)');
  await page.keyboard.press('Enter');
  await tabTo('.windowed');
  await page.keyboard.press('Home');
  await page.waitForURL(/at=0$/);
  await page.keyboard.press('End');
  await page.locator('aside[aria-label="event 2"]').waitFor();
  await opened.close();
});

test('two pages and a program answer one question: one counts, and the others are told who was first', async () => {
  const pages = await Promise.all([1, 2].map(async () => openPage(browser, await served.address())));
  const program = newAsking();
  const { url } = served.serving;
  await program.ask('connect', { url, token: OPERATOR, scope: 'operator', by: 'terminal' });
  const { questions } = await program.ask('waiting', {});
  const question = questions.find(({ action }) => action.session_id === 'harmless');
  if (question === undefined) return expect.fail('nothing waits');
  const [first, second] = await Promise.all(
    pages.map(async ({ go, page }) => {
      await go('#/waiting');
      return page.locator('article.question', { has: page.locator('a[href="#/session/harmless"]') });
    }),
  );
  // What has just come takes no answer.
  for (const card of [first, second]) await card?.locator('button[aria-disabled=false]').first().waitFor();
  const [outcome] = await Promise.all([
    program.ask('answer', {
      session_id: question.action.session_id,
      digest: question.digest,
      shown: question.kind === 'about_call' ? (question.arguments ?? {}) : {},
      answer: { kind: 'deny', message: 'no' },
    }),
    first?.getByRole('button', { name: 'allow once' }).click(),
    second?.getByRole('button', { name: 'deny' }).click(),
  ]);
  const notes = await Promise.all(
    pages.map(({ page }) => page.locator('main .done, main .fault[role=alert]').first().innerText()),
  );
  const taken = notes.filter((note) => /^(?:allowed|denied) \(event 3\)/.test(note)).length + (outcome.taken ? 1 : 0);
  const late =
    notes.filter((note) => /was first: .* \(event 3\)/.test(note)).length + (!outcome.taken && outcome.first ? 1 : 0);
  expect({ taken, late, notes }).toMatchObject({ taken: 1, late: 2 });
  await program.close();
  await Promise.all(pages.map((opened) => opened.close()));
  return undefined;
});
