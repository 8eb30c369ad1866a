// Ends `npm run test:page` at once, with what to do, where no Chromium is installed.
import { installedChromium } from './browser.ts';

export default function requireChromium(): void {
  installedChromium();
}
