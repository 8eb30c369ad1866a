// Opens an address in the browser of the user. The address holds a code that gives rights, so the program it is given to is
// taken from fixed directories, and finds only programs of these: the PATH and the directory of refold may be a model's.
import { spawn } from 'node:child_process';
import { HELPER_DIRECTORIES, findIn } from '../../files/helper-programs.ts';

const OPENERS: Partial<Readonly<Record<NodeJS.Platform, string>>> = { darwin: 'open', linux: 'xdg-open' };

/** How long an opener may take to fail: one that works may go on for as long as its browser runs. */
const FAILS_WITHIN_MS = 3_000;

/** Null once the program that opens addresses has begun; else why it cannot. */
export const openInBrowser = (url: string): Promise<string | null> => openWith(url, HELPER_DIRECTORIES);

/** As {@link openInBrowser}, with the opener and all that it runs by name from these directories. */
export async function openWith(url: string, directories: readonly string[]): Promise<string | null> {
  const name = OPENERS[process.platform];
  if (name === undefined) return `refold knows no program that opens a browser on ${process.platform}`;
  const opener = findIn(directories, name);
  if (opener === null) return `there is no ${name} in ${directories.join(', ')}`;
  const env = { ...process.env, PATH: directories.join(':') };
  const child = spawn(opener, [url], { cwd: '/', env, detached: true, stdio: 'ignore' });
  child.unref();
  return await new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), FAILS_WITHIN_MS);
    const end = (failed: string | null): void => {
      clearTimeout(timer);
      resolve(failed);
    };
    child.once('error', ({ message }) => end(message));
    child.once('exit', (code) => end(code === 0 ? null : `${name} ended with ${code}`));
  });
}
