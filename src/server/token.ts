// The bearer token of an engine: 256 random bits in a file that only its owner can read, created at the first start.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { link, open, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** The token file of a data directory. */
export const tokenFile = (dataDir: string): string => join(dataDir, 'token');

/** Reads the token, or creates it (mode 0600). Processes that start at the same time all get the same one. */
export async function ensureToken(dataDir: string): Promise<string> {
  const path = tokenFile(dataDir);
  const temporary = `${path}.${randomBytes(8).toString('hex')}`;
  try {
    return await readToken(path);
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error;
  }
  // Written under another name and then linked, so that no process reads half a token and the first token is kept.
  try {
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(32).toString('hex')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await link(temporary, path);
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  return await readToken(path);
}

const isCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException).code === code;

/** The token in a file. Throws when the file cannot be read, or contains none. */
export async function readToken(path: string): Promise<string> {
  const token = (await readFile(path, 'utf8')).trim();
  if (!/^\S+$/.test(token)) throw new Error(`${path} contains no token; delete it, and the engine creates another`);
  return token;
}

/** Compares a text with this token in constant time, also when the lengths differ. */
export function tokenCheck(token: string): (given: string) => boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = hash(token);
  return (given) => timingSafeEqual(hash(given), expected);
}
