// Opens an address in the browser of the user.
import { spawn } from 'node:child_process';

const OPENERS: Partial<Readonly<Record<NodeJS.Platform, string>>> = { darwin: 'open', linux: 'xdg-open' };

/** How long an opener may take to fail: one that works may go on for as long as its browser runs. */
const FAILS_WITHIN_MS = 3_000;

/** Null once the program that opens addresses has begun; else why it cannot. */
export async function openInBrowser(url: string): Promise<string | null> {
  const opener = OPENERS[process.platform];
  if (opener === undefined) return `refold knows no program that opens a browser on ${process.platform}`;
  const child = spawn(opener, [url], { detached: true, stdio: 'ignore' });
  child.unref();
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), FAILS_WITHIN_MS);
    const end = (failed: string | null): void => {
      clearTimeout(timer);
      resolve(failed);
    };
    child.once('error', ({ message }) => end(message));
    child.once('exit', (code) => end(code === 0 ? null : `${opener} ended with ${code}`));
  });
}
