// Two pages and a terminal answer one question, each a process of its own, while engine and bridge are killed and started
// again: one answer counts, and the others are told whose. `npm run test:page` runs a few rounds of one seed, `npm run soak --
// page` more of a new one.
import { isRight } from 'fp-ts/lib/Either.js';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { CallId, SessionId } from '../../schemas/ids.ts';
import { brand } from '../../schemas/ids.ts';
import { eventsIn } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { questionDigest, requiredActions } from '../../src/core/status.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { CrashWorld, eventually } from '../support/e2e/crash-world.ts';
import { refoldProcess } from '../support/e2e/refold.ts';
import { type Opened, addressAt, openBrowser, openPage } from '../support/page/browser.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';

const VICTIMS: readonly (readonly string[])[] = [['engine'], ['engine', 'one'], ['one']];
const SAMPLE = VICTIMS.length;
const ROUNDS = roundsOf(SAMPLE, 10 * SAMPLE);
const SEED = Number(process.env['REFOLD_TEST_SEED'] ?? (ROUNDS === SAMPLE ? 1 : Date.now() % 1_000_000));
/** The submits of a page go to the engine within so many of these turns of the event loop, and so does the kill. */
const TURNS_MAX = 2_000;
/** A page tries again for a minute. */
const TOLD_WITHIN_MS = 90_000;

interface Told {
  readonly who: string;
  /** Whether the answer counted, as far as who gave it was told. */
  readonly counted: boolean;
  readonly position: number;
  /** Who was first, when that was said. */
  readonly first: string | null;
}

let browser: Browser;
let world: CrashWorld;
const pages = new Map<string, Opened>();

beforeAll(async () => {
  browser = await openBrowser();
  world = await CrashWorld.open();
  await world.startBridge('one');
  const token = await readToken(tokenFile(world.dataDir(), 'operator'));
  for (const name of ['ada', 'bob']) {
    const address = await addressAt(world.url(), token, { scope: 'operator', name });
    const opened = await openPage(browser, address);
    opened.page.context().setDefaultTimeout(TOLD_WITHIN_MS);
    pages.set(name, opened);
  }
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

/** Starts a run whose first call asks, and waits until it does. */
async function newQuestion(
  round: number,
): Promise<{ readonly id: SessionId; readonly call: CallId; readonly digest: string }> {
  const id = brand<'SessionId'>(`asked-${round}`);
  // A connection to the engine that was killed may break under the request.
  const isThere = async (): Promise<boolean> => isRight(await world.client.session(id)());
  await eventually('the session is created', () =>
    world.createSession(id, CONSENT_PRESETS.default).then(() => true, isThere),
  );
  await world.submit(id, { kind: 'RunRequested', event_id: brand(`go-${id}`), input: { text: `${id}-r` } });
  const over = new AbortController();
  for await (const _ of world.client.follow(id, { from: 0, signal: over.signal })) {
    const [action] = requiredActions((await must(world.client.session(id))).state);
    if (action === undefined) continue;
    over.abort();
    return { id, call: action.call_id, digest: questionDigest(action) };
  }
  throw new Error('the session ended');
}

/** Lets the other processes work for a random while: the random moment is the point of the test. */
async function randomWhile(random: Random): Promise<void> {
  for (let turns = random.below(TURNS_MAX); turns > 0; turns -= 1) {
    await new Promise<void>((resolve) => void setImmediate(resolve));
  }
}

const SAID = /(?:(?:allowed|denied) \(event (\d+)\)|(\S+) was first: \w+ .*\(event (\d+)\))/;

interface PersonAtPage {
  readonly who: string;
  readonly digest: string;
  readonly button: string;
}

async function pressOnPage({ who, digest, button }: PersonAtPage): Promise<void> {
  const { page } = pages.get(who) as Opened;
  const card = page.locator('article.question', { hasText: digest });
  const sent = card.getByText('the answer is on its way');
  // A card that has just moved takes no press.
  do await card.getByRole('button', { name: button, exact: true }).click();
  while (!(await sent.isVisible()));
}

async function toldOnPage({ who }: PersonAtPage): Promise<Told> {
  const { page } = pages.get(who) as Opened;
  // While the engine is away, the page also says that it does not answer.
  const said = page.locator('main .done, main .fault[role=alert]', { hasText: SAID }).first();
  const note = await said.innerText().catch(async (error: unknown) => {
    throw new Error(`${who} is not told: ${await page.locator('main').innerText()}`, { cause: error });
  });
  const [, counted, first, position] = SAID.exec(note) ?? [];
  // The page counts events from 1.
  return { who, counted: counted !== undefined, position: Number(counted ?? position) - 1, first: first ?? null };
}

/** `refold approve`, again when the engine was not there. */
async function answerInTerminal(id: SessionId, call: CallId, digest: string): Promise<Told> {
  const args = ['approve', call, '--session', id, '--digest', digest, '--data-dir', world.dataDir()];
  for (;;) {
    const { code, stdout, stderr } = await refoldProcess(args);
    const recorded = /recorded at position (\d+)/.exec(stdout)?.[1];
    if (code === 0 && recorded !== undefined) {
      return { who: 'terminal', counted: true, position: Number(recorded), first: null };
    }
    const [, first, position] = /(\S+) was first: \w+ \(position (\d+)\)/.exec(stderr) ?? [];
    if (first !== undefined) return { who: 'terminal', counted: false, position: Number(position), first };
    // A terminal that was told that the call does not wait any more is told who answered it.
    if (/waits for a person/.test(stderr)) throw new Error(`the terminal was told: ${stderr}`);
  }
}

async function killAndStart(random: Random, victims: readonly string[]): Promise<void> {
  await randomWhile(random);
  await world.kill(...victims);
  for (const victim of victims) {
    // A terminal that found no engine may have the data directory open.
    if (victim === 'engine')
      await eventually(
        'the engine starts',
        () =>
          world.startEngine().then(
            () => true,
            () => false,
          ),
        60_000,
      );
    else await world.startBridge(victim);
  }
}

async function round(random: Random, number: number): Promise<void> {
  const { id, call, digest } = await newQuestion(number);
  let inTerminal: Promise<Told> | null = null;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  for (const { page, go } of pages.values()) {
    await go('#/sessions');
    await go('#/waiting');
    // What has just come, or was not seen, takes no answer.
    const card = page.locator('article.question', { hasText: digest });
    await card.getByRole('button').first().scrollIntoViewIfNeeded();
    await card.locator('button[aria-disabled=false]').first().waitFor();
    // Its answer is on the way until the terminal begins, and for a random while; sometimes for longer than the terminal takes.
    const isSlow = random.oneIn(3);
    await page.context().unrouteAll();
    await page.context().route(/\/v1\/sessions\/[^/]+\/events$/, async (route) => {
      await begun;
      if (isSlow) await inTerminal?.catch(() => undefined);
      else await randomWhile(random);
      await route.continue();
    });
  }
  const atPages: readonly PersonAtPage[] = [
    { who: 'ada', digest, button: 'allow once' },
    { who: 'bob', digest, button: 'deny' },
  ];
  // Both are pressed before anything is killed: a page that has lost its engine says so above the cards, which moves them.
  await Promise.all(atPages.map(pressOnPage));
  inTerminal = answerInTerminal(id, call, digest);
  begin();
  const [told] = await Promise.all([
    Promise.all([inTerminal, ...atPages.map(toldOnPage)]),
    killAndStart(random, VICTIMS[number % VICTIMS.length] ?? []),
  ]);
  const answers = (await must(world.client.records(id)))
    .flatMap((record) => (record.kind === 'commit' ? [...eventsIn(record)] : []))
    .filter(({ event }) => event.kind === 'user.tool_confirmation' && event.call_id === call);
  expect(answers.length).toBe(1);
  const [answer] = answers;
  const by = answer?.event !== undefined && 'by' in answer.event ? (answer.event.by ?? null) : null;
  const winner = pages.has(String(by)) ? by : 'terminal';
  process.stdout.write(
    `round ${number}: ${VICTIMS[number % VICTIMS.length]?.join(' and ')} killed, ${winner} was first\n`,
  );
  for (const { who, counted, position, first } of told) {
    expect(position, `${who} is told of the event`).toBe(answer?.position);
    if (!counted) expect(first, `${who} is told who`).toBe(by);
    // A page sends its answer again under one event id; a terminal that lost its engine may find its own answer there.
    if (who !== 'terminal') expect(counted, `the answer of ${who}`).toBe(who === winner);
    else if (counted) expect(who).toBe(winner);
  }
}

test(
  `one of three answers counts, and the others are told whose: ${ROUNDS} rounds of seed ${SEED}`,
  async () => {
    const random = randomFrom(SEED);
    for (let number = 0; number < ROUNDS; number += 1) await round(random, number);
    const marks = await world.marks();
    expect(new Set(marks).size).toBe(marks.length);
  },
  120_000 + ROUNDS * 30_000,
);
