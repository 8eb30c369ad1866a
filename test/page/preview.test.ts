// The card of a call that would change a file, in a real browser, with a real engine and bridge: it shows the diff that the bridge
// found, its answer names what was shown, and a file that has changed since is not written over.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { IngressEvent } from '../../schemas/event.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { eventsIn } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { CrashWorld, eventually } from '../support/e2e/crash-world.ts';
import { type Opened, addressAt, openBrowser, openPage } from '../support/page/browser.ts';

let browser: Browser;
let world: CrashWorld;
let opened: Opened;

beforeAll(async () => {
  browser = await openBrowser();
  world = await CrashWorld.open();
  await world.startBridge('one');
  const token = await readToken(tokenFile(world.dataDir(), 'operator'));
  opened = await openPage(browser, await addressAt(world.url(), token, { scope: 'operator', name: 'ada' }));
});
afterAll(async () => {
  await browser.close();
  await world.close();
});

/** Of all calls, those that write a file ask. */
const POLICY = {
  ...CONSENT_PRESETS.allow_all,
  tools: { [brand<'ToolId'>('host.fs.write_file')]: 'always_ask' as const },
};

const eventsOf = async (id: SessionId): Promise<readonly IngressEvent[]> =>
  (await must(world.client.records(id))).flatMap((record) =>
    record.kind === 'commit' ? [...eventsIn(record)].map(({ event }) => event) : [],
  );

/** Presses a button of the card until the answer is on record: a card takes none before a person could have read it. */
async function answer(id: SessionId): Promise<IngressEvent> {
  const card = opened.page.locator('article.question', { hasText: id });
  const button = card.getByRole('button', { name: 'allow once', exact: true });
  const isAnswer = ({ kind }: IngressEvent): boolean => kind === 'user.tool_confirmation';
  await eventually('the answer is recorded', async () => {
    await button.click({ timeout: 2_000 }).catch(() => undefined);
    return (await eventsOf(id)).some(isAnswer);
  });
  return (await eventsOf(id)).find(isAnswer) as IngressEvent;
}

test.each([
  ['unchanged', null, { outcome: 'succeeded' }, 'unchanged-2'],
  ['changed', 'by a person, again\n', { outcome: 'failed', code: 'changed_since_preview' }, 'by a person, again\n'],
] as const)(
  'a card shows what a call would do, and with the file %s the call ends so',
  async (name, edit, end, left) => {
    const id = brand<'SessionId'>(`previewed-${name}`);
    const path = join(world.workspace, `${name}.txt`);
    await writeFile(path, 'by a person\n');
    await world.createSession(id, POLICY);
    await world.submit(id, { kind: 'RunRequested', event_id: brand(`go-${name}`), input: { text: name } });
    await opened.go('#/sessions');
    await opened.go('#/waiting');
    const card = opened.page.locator('article.question', { hasText: id });
    const shown = card.getByLabel('what the call would do');
    const digest = await shown.locator('code.digest').innerText();
    const linesOf = async (of: string): Promise<readonly string[]> =>
      (await shown.locator(`.diff .${of}`).allInnerTexts()).map((line) => line.trim());
    expect(await linesOf('noted')).toEqual([`»${name}.txt (+1 -1)`, '»no line feed at the end of the file']);
    expect(await linesOf('removed')).toEqual(['-by a person']);
    expect(await linesOf('added')).toEqual([`+${name}-2`]);
    if (edit !== null) await writeFile(path, edit);
    expect(await answer(id)).toMatchObject({ result: 'allow', preview: digest });
    await world.idle(id);
    const settled = (await eventsOf(id)).find(
      (event) => event.kind === 'ToolCallSettled' && event.call_id === `${name}-2-write`,
    );
    expect(settled).toMatchObject(end);
    expect(await readFile(path, 'utf8')).toBe(left);
  },
);
