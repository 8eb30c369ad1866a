// Ends `npm run test:page` at once, with what to do, where no Chromium is installed.
import { installedChromium } from './browser.ts';

/** What vitest calls before the first test. */
export function setup(): void {
  installedChromium();
}
