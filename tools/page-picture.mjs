// Draws docs/page.png, the picture of the page in README.md: replay-fixtures/demo, opened as a file in a Chromium.
//
//   npm run build && node tools/page-picture.mjs
import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const SIZE = { width: 1_000, height: 760 };

const opening = spawn(
  process.execPath,
  [at('dist/src/cli/main.js'), 'open', '--no-browser', at('replay-fixtures/demo/session.jsonl')],
  { stdio: ['ignore', 'pipe', 'inherit'] },
);
const browser = await chromium.launch({
  executablePath: process.env.REFOLD_CHROMIUM ?? '/usr/bin/chromium',
  args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
});
try {
  const [line] = await once(createInterface({ input: opening.stdout }), 'line');
  const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' });
  await page.goto(/http\S+/.exec(line)[0]);
  await page.locator('.facts .verdict.good').nth(1).waitFor();
  await page.locator('article.turn').first().waitFor();
  await page.screenshot({ path: at('docs/page.png') });
} finally {
  await browser.close();
  opening.kill();
}
