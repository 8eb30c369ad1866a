// What a person presses is what the person has seen: a double click, a card that moves, one that came in between and one that
// has only just come are no answers.
import type { Browser, Locator } from 'playwright-core';
import { afterEach, beforeAll, afterAll, beforeEach, expect, test } from 'vitest';
import { brand } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { Talk } from '../support/engine/world.ts';
import { type Opened, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';

/** Notes what the page asks its worker to do, at the moment of the press. */
const WATCH = `
window.sent = [];
const { postMessage } = Worker.prototype;
Worker.prototype.postMessage = function (message) {
  if (message.ask === 'answer' || message.ask === 'act') window.sent.push(message.given.session_id);
  return postMessage.call(this, message);
};`;

let browser: Browser;
let served: ServedPage;
let opened: Opened;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());

/** A session whose call asks; with a time to live, its question expires and is listed before those that do not. */
async function asks(id: string, approval_ttl_ms?: number): Promise<void> {
  const talk = new Talk(served.world.engine.client, brand<'SessionId'>(id));
  const { approval_ttl_ms: _none, ...policy } = CONSENT_PRESETS.allow_all;
  await talk.create(undefined, approval_ttl_ms === undefined ? policy : { ...policy, approval_ttl_ms });
  await talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
  const calls = [{ call_id: 'c-1', tool_name: 'asks', arguments: { n: id } }];
  await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls }]);
}

beforeEach(async () => {
  served = await servePage();
  for (const id of ['one', 'two', 'three']) await asks(id);
  opened = await openPage(browser, await served.address(), { script: WATCH });
  await opened.go('#/waiting');
  await opened.page.locator('article.question').nth(2).waitFor();
});
afterEach(async () => {
  const { complaints } = opened;
  await opened.close();
  await served.close();
  if (complaints.length > 0) throw new Error(`the browser complains: ${complaints.join(', ')}`);
});

const cardOf = (id: string): Locator =>
  opened.page.locator('article.question', { has: opened.page.locator(`a[href="#/session/${id}"]`) });
const allowOf = (card: Locator): Locator => card.getByRole('button', { name: 'allow once', exact: true });
const ready = (card: Locator): Promise<void> => card.locator('button[aria-disabled=false]').first().waitFor();
const sent = (): Promise<readonly string[]> => opened.page.evaluate<readonly string[]>('window.sent');

async function middleOf(card: Locator): Promise<{ readonly x: number; readonly y: number }> {
  const box = await allowOf(card).boundingBox();
  if (box === null) return expect.fail('the button is not drawn');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

test.each([
  ['two clicks 120 ms apart', 1],
  ['a double click', 2],
])('%s at one place answer one question', async (_what, clickCount) => {
  const { page } = opened;
  const first = page.locator('article.question').first();
  await ready(first);
  const { x, y } = await middleOf(first);
  const id = await first.locator('a').first().innerText();
  await page.mouse.click(x, y);
  await page.mouse.click(x, y, { clickCount, delay: 120 });
  await first.locator('.done').waitFor();
  // Again, now that the answer is there: the answered card is still in its place.
  await page.mouse.click(x, y, { clickCount });
  expect(await sent()).toEqual([id]);
  expect(await page.locator('article.question').first().locator('a').first().innerText()).toBe(id);
  expect(await page.locator('article.question').count()).toBe(3);
  expect(await allowOf(first).getAttribute('aria-disabled')).toBe('true');
  // It goes when the pointer has left.
  await page.mouse.move(1, 1);
  await page.locator('article.question').nth(2).waitFor({ state: 'detached' });
  await page.locator('main .done', { hasText: 'allowed (event 3)' }).waitFor();
});

test('a question that is inserted does not shift an aimed click', async () => {
  const { page } = opened;
  const first = page.locator('article.question').first();
  await ready(first);
  const id = await first.locator('a').first().innerText();
  const { x, y } = await middleOf(first);
  await page.mouse.move(x, y);
  await asks('urgent', 600_000);
  await cardOf('urgent').waitFor();
  expect(await page.locator('article.question').nth(3).locator('a').first().innerText()).toBe('urgent');
  expect(await middleOf(first)).toEqual({ x, y });
  await page.mouse.click(x, y);
  await first.locator('.done').waitFor();
  expect(await sent()).toEqual([id]);
});

test('a card that has just moved under the pointer takes nothing', async () => {
  const { page } = opened;
  const [first, second] = [page.locator('article.question').first(), page.locator('article.question').nth(1)];
  await Promise.all([ready(first), ready(second)]);
  const [at, next] = [await middleOf(first), await middleOf(second)];
  // The list moves up, and the press comes before anything else happens.
  const pressed = await page.evaluate<string>(`(() => {
    document.querySelector('main').style.marginTop = '-${next.y - at.y}px';
    const button = document.elementFromPoint(${at.x}, ${at.y}).closest('button');
    button.click();
    return button.closest('article').querySelector('a').textContent;
  })()`);
  expect(pressed).toBe(await second.locator('a').first().innerText());
  expect(await sent()).toEqual([]);
  // Seen in its new place, it does.
  await ready(second);
  await page.mouse.click(at.x, at.y);
  await second.locator('.done').waitFor();
  expect(await sent()).toEqual([pressed]);
});

test('a card that has just come takes nothing, of a key neither', async () => {
  const { page, go } = opened;
  await go('#/sessions');
  await page.locator('table.sessions').waitFor();
  await page.evaluate(`(() => {
    window.pressed = 0;
    new MutationObserver(() => {
      for (const button of document.querySelectorAll('article.question button, section.acts button')) {
        if (button.seen) continue;
        button.seen = true;
        button.click();
        window.pressed += 1;
      }
    }).observe(document.body, { childList: true, subtree: true });
  })()`);
  await go('#/waiting');
  await ready(page.locator('article.question').first());
  await go('#/session/one');
  await ready(page.locator('section.acts'));
  expect(await page.evaluate<number>('window.pressed')).toBeGreaterThan(10);
  expect(await sent()).toEqual([]);
  // The keyboard waits as the pointer does, and a held key presses once.
  await page.locator('section.acts').getByRole('button', { name: 'pause' }).focus();
  await ready(page.locator('section.acts'));
  await page.keyboard.down('Enter');
  await page.keyboard.down('Enter');
  await page.keyboard.up('Enter');
  await page.locator('section.acts .done').waitFor();
  expect(await sent()).toEqual(['one']);
});
