// The card of what a call asks, in a real browser: a form that the keyboard and a screen reader can use, checks before anything is
// sent, refusals of the engine, and texts of others that stay texts.
import axe from 'axe-core';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CallQuestion } from '../../schemas/elicitation.ts';
import type { JsonObject } from '../../schemas/json.ts';
import { must } from '../../src/client/must.ts';
import { callThatAsks } from '../support/engine/asking-call.ts';
import type { Talk } from '../support/engine/world.ts';
import { type Opened, type ServedPage, openBrowser, openPage, servePage } from '../support/page/browser.ts';
import { eventsOf } from '../support/records.ts';

let browser: Browser;
let served: ServedPage;

beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser.close());
beforeEach(async () => {
  served = await servePage();
});
afterEach(() => served.close());

const EVERY_KIND = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2 },
    count: { type: 'integer', minimum: 1, maximum: 5, default: 2 },
    price: { type: 'number' },
    gift: { type: 'boolean', default: true },
    size: { type: 'string', enum: ['S', 'XL'] },
    colour: {
      type: 'string',
      oneOf: [
        { const: 'r', title: 'Red' },
        { const: 'b', title: 'Blue' },
      ],
      default: 'b',
    },
    tags: { type: 'array', items: { type: 'string', enum: ['new', 'old', 'odd'] }, minItems: 1, maxItems: 2 },
    mail: { type: 'string', format: 'email' },
    page: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
  },
  required: ['name', 'count', 'gift', 'size', 'tags', 'mail', 'day'],
  additionalProperties: false,
};

/** A page on the questions of a session of its own, and the card of the one that is asked there. */
async function asked(id: string, question: CallQuestion, options: Parameters<typeof openPage>[2] = {}) {
  const talk = await callThatAsks(served.world.engine.client, id, question);
  const opened = await openPage(browser, await served.address(), options);
  await opened.go('#/waiting');
  const card = cardOf(opened, id);
  await card.waitFor();
  return { talk, opened, card };
}

const cardOf = ({ page }: Opened, id: string): Locator =>
  page.locator('article.question', { has: page.locator(`a[href="#/session/${id}"]`) });

/** What is on record of the answer; null while there is none. */
async function answerIn(talk: Talk): Promise<JsonObject | null> {
  const found = eventsOf(await must(talk.client.records(talk.id, 0))).find(
    ({ kind }) => kind === 'user.elicitation_result',
  );
  return (found as JsonObject | undefined) ?? null;
}

/** Does something until this is seen: a card takes a press only after it was seen at its place for a while. */
async function until(seen: Locator, act: () => Promise<void>): Promise<void> {
  const first = seen.first();
  while (!(await first.isVisible())) {
    await act().catch(() => undefined);
    await first.waitFor({ timeout: AGAIN_MS }).catch(() => undefined);
  }
}

/** Longer than a card must be seen before it takes a press. */
const AGAIN_MS = 2_000;

const press = (card: Locator, name: string, seen: Locator): Promise<void> =>
  until(seen, () => card.getByRole('button', { name, exact: true }).click({ timeout: AGAIN_MS }));

const doneIn = ({ page }: Opened): Locator => page.locator('main .done');

async function faultsIn({ page }: Opened): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  return await page.evaluate<string[]>(`axe.run(document).then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200)))`);
}

test.each(['light', 'dark'] as const)(
  'axe-core finds nothing in a form, and in its faults (%s)',
  async (colorScheme) => {
    const question = { message: 'Which?', from: 'shop', url: 'https://shop.example/', schema: EVERY_KIND };
    const { opened, card } = await asked(`axe-${colorScheme}`, question, { colorScheme });
    expect(await faultsIn(opened)).toEqual([]);
    await press(card, 'accept', card.locator('[aria-invalid=true]'));
    expect(await faultsIn(opened)).toEqual([]);
    expect(opened.complaints).toEqual([]);
    await opened.close();
  },
);

test('a form of every kind of field is filled in by its labels, and the answer is recorded', async () => {
  const { talk, opened, card } = await asked('every-kind', { message: 'Which?', schema: EVERY_KIND });
  expect(await card.getByLabel('count').inputValue()).toBe('2');
  expect(await card.getByLabel('gift').inputValue()).toBe('yes');
  expect(await card.getByLabel('colour').inputValue()).toBe('b');
  await card.getByLabel('name').fill('Ada');
  await card.getByLabel('count').fill('3');
  await card.getByLabel('gift').selectOption('no');
  await card.getByLabel('size').selectOption('XL');
  await card.getByLabel('odd').check();
  await card.getByLabel('new').check();
  await card.getByLabel('mail').fill('ada@example.com');
  await card.getByLabel('day').fill('2027-01-31');
  await press(card, 'accept', doneIn(opened));
  expect(await answerIn(talk)).toMatchObject({
    action: 'accept',
    content: {
      name: 'Ada',
      count: 3,
      gift: false,
      size: 'XL',
      colour: 'b',
      tags: ['new', 'odd'],
      mail: 'ada@example.com',
      day: '2027-01-31',
    },
  });
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test('what does not fit is said at its field, which gets the keyboard, and nothing is sent', async () => {
  const { talk, opened, card } = await asked('faults', { message: 'Which?', schema: EVERY_KIND });
  await card.getByLabel('name').fill('A');
  await card.getByLabel('count').fill('9');
  await card.getByLabel('price').fill('dear');
  await card.getByLabel('page').fill('example.com');
  await card.getByLabel('at (optional)', { exact: true }).fill('tomorrow');
  const alerts = card.locator('[role=alert]:not(:empty)');
  await press(card, 'accept', alerts);
  // In the order of the record, whose keys are sorted: at, count, day, mail, name, page, price, size, tags.
  const faults = [
    'it must be a date and a time with its zone, such as 2027-01-31T18:30:00Z',
    'it must be 1 to 5',
    'it is required',
    'it is required',
    'it must have at least 2 characters',
    'it must be a whole address, such as https://example.com/',
    'it must be a number',
    'it is required',
    'it is required',
  ];
  expect(await alerts.allInnerTexts()).toEqual(faults);
  const focused = await opened.page.evaluate<string>(
    'document.getElementById(document.activeElement.getAttribute("aria-describedby").split(" ")[1]).textContent',
  );
  expect(focused).toBe(faults[0]);
  expect(await answerIn(talk)).toBeNull();
  await opened.close();
});

test.each([
  ['decline', 'decline'],
  ['cancel', 'cancel'],
] as const)('%s answers without what was typed', async (name, action) => {
  const { talk, opened, card } = await asked(`by-${name}`, { message: 'Which?', schema: EVERY_KIND });
  await card.getByLabel('name').fill('Ada');
  await press(card, name, doneIn(opened));
  const answer = await answerIn(talk);
  expect(answer).toMatchObject({ action });
  expect(answer).not.toHaveProperty('content');
  await opened.close();
});

test('a question without a form is accepted by the keyboard alone', async () => {
  const { talk, opened, card } = await asked('no-form', { message: 'Go on?' });
  await card.getByLabel('what the call asks').focus();
  await opened.page.keyboard.press('Tab');
  const accept = card.getByRole('button', { name: 'accept', exact: true });
  expect(await accept.evaluate((button) => button.matches(':focus-visible'))).toBe(true);
  await until(doneIn(opened), () => opened.page.keyboard.press('Enter'));
  expect(await answerIn(talk)).toMatchObject({ action: 'accept' });
  await opened.close();
});

test('a schema that is no form takes JSON, and what the engine refuses is shown and can be answered again', async () => {
  const schema = { type: 'object', properties: { tags: { type: 'array', items: { type: 'integer' } } } };
  const { talk, opened, card } = await asked('json', { message: 'Which?', schema });
  const answer = card.getByLabel('your answer');
  await answer.fill('[1]');
  await press(card, 'accept', card.getByText('it must be one JSON object'));
  await answer.fill('{"tags":["x"]}');
  await press(card, 'accept', card.locator('.code', { hasText: 'answer_invalid' }));
  expect(await answerIn(talk)).toBeNull();
  await answer.fill('{"tags":[7]}');
  await press(card, 'accept', doneIn(opened));
  expect(await answerIn(talk)).toMatchObject({ content: { tags: [7] } });
  await opened.close();
});

/** Marks that change how a reader sees the text around them. */
const MARKS = ['\u202E', '\u2066', '\u001B', '\u200B'];

test('texts of others are shown with their marks, and an address is no link', async () => {
  const odd = `<img src=x>\u202Egnp.exe\u2066 \u001B[2J a\u200Bb`;
  const properties = {
    [`f${odd}`]: { type: 'string', title: odd, default: `x${odd}` },
    s: { type: 'string', enum: [`v${odd}`] },
  };
  const url = `https://shop.example/${odd.replaceAll(' ', '')}`;
  const { opened, card } = await asked('odd', {
    message: `${odd}\nhttps://elsewhere.example/`,
    from: odd,
    url,
    schema: { type: 'object', properties },
  });
  const text = await card.evaluate((element) => element.textContent);
  expect(MARKS.filter((mark) => text.includes(mark))).toEqual([]);
  for (const shown of ['<U+202E>', '<U+200B>', '␛', 'https://elsewhere.example/', 'it has marks that are not seen']) {
    expect(text).toContain(shown);
  }
  expect(await card.locator('a').evaluateAll((all) => all.map((one) => one.getAttribute('href')))).toEqual([
    '#/session/odd',
  ]);
  expect(await card.locator('img').count()).toBe(0);
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test('a page that may only read shows the question, and nothing that answers it', async () => {
  await callThatAsks(served.world.engine.client, 'viewed', { message: 'Which size?', schema: EVERY_KIND });
  const opened = await openPage(browser, await served.address('viewer'));
  await opened.go('#/waiting');
  const card = cardOf(opened, 'viewed');
  await card.getByText('Which size?').waitFor();
  expect(await card.locator('button, input, select, textarea').count()).toBe(0);
  await opened.close();
});
