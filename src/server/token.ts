// The bearer token of an engine: 256 random bits in a file only its owner can read, made at the first start.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Where the token of a data directory is. */
export const tokenFile = (dataDir: string): string => join(dataDir, 'token');

/** Reads the token, or makes it (mode 0600). Two processes that start at once agree on one. */
export async function ensureToken(dataDir: string): Promise<string> {
  const path = tokenFile(dataDir);
  try {
    const file = await open(path, 'wx', 0o600);
    try {
      await file.writeFile(`${randomBytes(32).toString('hex')}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return await readToken(path);
}

export const readToken = async (path: string): Promise<string> => (await readFile(path, 'utf8')).trim();

/** Compares in constant time, whatever the lengths. */
export function sameToken(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
