// A page of the inspector in a real browser: an engine in memory that serves it, and a Chromium that opens it.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { type Browser, type BrowserContextOptions, type Page, chromium } from 'playwright-core';
import { PAGE_DIRECTORY } from '../../../src/server/page-files.ts';
import type { Serving } from '../../../src/server/listen.ts';
import { serve } from '../../../src/server/serve.ts';
import { fixedTokens } from '../../../src/server/tokens.ts';
import { ROOT } from '../e2e/refold.ts';
import { type World, newWorld } from '../engine/world.ts';

/** Where the build puts the page; the sources of the server that are tested here have no page beside them. */
export const PAGE = PAGE_DIRECTORY.startsWith(`${ROOT}dist/`) ? PAGE_DIRECTORY : `${ROOT}dist/inspector/`;

const KNOWN = [
  process.env['REFOLD_CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The Chromium that is installed. Throws when there is none: without one the page is not tested at all. */
export function installedChromium(): string {
  const found = KNOWN.find((path) => path !== undefined && existsSync(path));
  if (found !== undefined) return found;
  throw new Error(
    'the tests of the page drive a Chromium, and none is installed: apt-get install chromium, or name one in REFOLD_CHROMIUM',
  );
}

export async function openBrowser(): Promise<Browser> {
  const executablePath = installedChromium();
  // The sandbox of Chromium refuses to run as root.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return await chromium.launch({ executablePath, args: [...args, '--js-flags=--expose-gc'] });
}

export interface ServedPage {
  readonly world: World;
  readonly serving: Serving;
  /** The address that `refold open` would print. */
  address(scope?: 'operator' | 'viewer'): Promise<string>;
  close(): Promise<void>;
}

/** What is not on the screen by then never will be. */
const WAIT_MS = 15_000;

/** The token of a program beside the page. */
export const OPERATOR = 'operator-token-of-a-test';

export async function servePage(): Promise<ServedPage> {
  const world = await newWorld();
  const tokens = fixedTokens({ operator: OPERATOR });
  const serving = await serve(world.engine.client, { tokens, port: 0, pageDirectory: PAGE });
  return {
    world,
    serving,
    address: (scope = 'operator') => addressAt(serving.url, OPERATOR, { scope }),
    async close() {
      await serving.close();
      await world.engine.close();
    },
  };
}

/** The address with a code that an engine gives for a token, as `refold open` prints it. */
export async function addressAt(
  url: string,
  token: string,
  asked: { readonly scope: 'operator' | 'viewer'; readonly name?: string },
): Promise<string> {
  const answered = await fetch(`${url}/v1/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(asked),
  });
  const { code } = (await answered.json()) as { readonly code: string };
  return `${url}/#code=${code}`;
}

/** A page in a tab of its own, with everything that it complained of. */
export interface Opened {
  readonly page: Page;
  readonly complaints: readonly string[];
  /** Goes to a fragment of the address, as a link does. */
  readonly go: (fragment: string) => Promise<void>;
  /** Chooses a file on the screen of sessions, and waits for its session; gives the fragment of that. */
  readonly openFile: (path: string) => Promise<string>;
  close(): Promise<void>;
}

/** A `script` runs in the page before its own. */
export async function openPage(
  browser: Browser,
  address: string,
  { script, ...options }: BrowserContextOptions & { readonly script?: string } = {},
): Promise<Opened> {
  const context = await browser.newContext({ viewport: { width: 1_200, height: 900 }, ...options });
  if (script !== undefined) await context.addInitScript(script);
  context.setDefaultTimeout(WAIT_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('dialog', (dialog) => {
    complaints.push(`a dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(address);
  await page.locator('header .link').waitFor();
  const go = async (fragment: string): Promise<void> => {
    await page.evaluate(`window.location.hash = ${JSON.stringify(fragment)}`);
  };
  return {
    page,
    complaints,
    go,
    async openFile(path) {
      await go('#/sessions');
      await page.locator('h1', { hasText: 'Sessions' }).waitFor();
      // By its path: the browser reads it itself, as it does when a person chooses it.
      await page.locator('.chooser input[type=file]').setInputFiles(path);
      await page.waitForURL(/#\/session\/file/);
      await page.locator('h1', { hasText: basename(path) }).waitFor();
      return new URL(page.url()).hash;
    },
    close: () => context.close(),
  };
}

/** Waits until the fold verdict of the session on the screen is final, and gives the four marks as they are read. */
export async function finalMarks(page: Page): Promise<readonly string[]> {
  await page.locator('.facts .verdict.good:nth-of-type(2), .facts .verdict.bad:nth-of-type(2)').waitFor();
  return await page.locator('.facts .verdict').allInnerTexts();
}
