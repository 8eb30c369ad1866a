// Visits the screens of a session, as a reader who follows the links would.
import type { Opened } from './browser.ts';

/** Calls `look` on every screen of a session when it is drawn, with its name or its address. */
export async function visitAll(opened: Opened, base: string, look: (screen: string) => Promise<void>): Promise<void> {
  const { page, go } = opened;
  await go(base);
  await page.locator('article.turn').first().waitFor();
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  await look('turns');
  const turn = await page.locator('article.turn h2 a').first().getAttribute('href');
  const call = await page.locator('ol.calls a').first().getAttribute('href');
  await page.getByRole('tab', { name: 'events' }).click();
  await page.locator('aside.event .pairs').waitFor();
  await page.locator('.row .what').first().waitFor();
  await look('events');
  for (const [fragment, ready] of [
    [turn, '.pairs, table'],
    [call, 'h2'],
    [`${base}/tools`, 'table'],
    [`${base}/state`, 'table.state'],
    [`${base}/whatif`, 'select'],
    [`${base}/proof`, '.verdicts .good'],
  ] as const) {
    await go(fragment ?? '');
    await page.locator(`main ${ready}`).first().waitFor();
    await look(fragment ?? '');
  }
}
