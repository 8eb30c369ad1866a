// Creates, replaces and removes the token files of a data directory. A running engine needs no restart: it looks at the file
// of a token with every request (`src/server/tokens.ts`).
import { randomBytes } from 'node:crypto';
import { link, lstat, mkdir, open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { SCOPES, type Access, accessFault } from '../../schemas/access.ts';
import { TOKENS_MAX } from '../../schemas/limits.ts';
import { isTokenName, parseTokenFile, refuseOpenToOthers, tokenDirectory, tokenFile } from '../client/token-file.ts';

/** A token as a list shows it: what it is for, or why it is not accepted. Never the token itself. */
export interface ListedToken {
  readonly name: string;
  readonly file: string;
  readonly access: Access | null;
  readonly problem: string | null;
}

/** Creates the tokens of the three scopes where they are missing. Processes that start together agree on them. */
export async function ensureTokens(dataDir: string): Promise<void> {
  await mkdir(tokenDirectory(dataDir), { recursive: true, mode: 0o700 });
  await removeLeftovers(dataDir);
  for (const name of SCOPES) await writeToken(dataDir, name, null).catch(unless('EEXIST'));
}

/** Creates a further token; returns its file. Throws when the name is taken, or when it would allow nothing useful. */
export async function createToken(dataDir: string, name: string, access: Omit<Access, 'name'>): Promise<string> {
  if (!isTokenName(name)) throw new Error(`"${name}" is no name of a token: use 1 to 64 letters, digits, "_" and "-"`);
  if (isScope(name)) throw new Error(`the name ${name} is that of a scope; choose another`);
  const fault = accessFault(access);
  if (fault !== null) throw new Error(fault);
  await ensureTokens(dataDir);
  const names = await namesIn(dataDir);
  if (names.length >= TOKENS_MAX) throw new Error(`there are ${names.length} tokens, and no more are kept; revoke one`);
  await writeToken(dataDir, name, access).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
    throw new Error(`there is a token ${name} already; rotate or revoke it: refold token rotate ${name}`);
  });
  return tokenFile(dataDir, name);
}

/** Replaces a token by a new one for the same; the old one is refused from now on. */
export async function rotateToken(dataDir: string, name: string): Promise<string> {
  const path = tokenFile(dataDir, name);
  const [, ...rest] = (await readFile(requireName(name, path), 'utf8').catch(missing(name))).split('\n');
  const temporary = await writeTemporary(dataDir, rest.join('\n'));
  await rename(temporary, path).catch(async (error: unknown) => {
    await rm(temporary, { force: true });
    throw error;
  });
  return path;
}

/** Removes a token; the three of the scopes can only be rotated. */
export async function revokeToken(dataDir: string, name: string): Promise<string> {
  if (isScope(name)) throw new Error(`the token ${name} is always there; replace it: refold token rotate ${name}`);
  const path = tokenFile(dataDir, name);
  await rm(requireName(name, path)).catch(missing(name));
  return path;
}

export async function listTokens(dataDir: string): Promise<readonly ListedToken[]> {
  return await Promise.all(
    (await namesIn(dataDir)).map(async (name) => {
      const file = tokenFile(dataDir, name);
      try {
        refuseOpenToOthers(file, await lstat(file));
        const { access } = parseTokenFile(name, file, await readFile(file, 'utf8'));
        return { name, file, access, problem: null };
      } catch (error) {
        return { name, file, access: null, problem: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
}

async function namesIn(dataDir: string): Promise<readonly string[]> {
  const names = await readdir(tokenDirectory(dataDir)).catch(unless('ENOENT'));
  return (names ?? []).filter(isTokenName).toSorted();
}

const isScope = (name: string): boolean => SCOPES.some((scope) => scope === name);

function requireName(name: string, path: string): string {
  if (!isTokenName(name)) throw new Error(`"${name}" is no name of a token: refold token list shows them`);
  return path;
}

const missing =
  (name: string) =>
  (error: unknown): never => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error(`there is no token ${name}: refold token list shows them`);
  };

/** Written under another name and then linked, so that no process reads half a file, and the first one is kept. */
async function writeToken(dataDir: string, name: string, access: Omit<Access, 'name'> | null): Promise<void> {
  const path = tokenFile(dataDir, name);
  const exists = await lstat(path).then(
    () => true,
    () => false,
  );
  if (exists) throw Object.assign(new Error('it exists'), { code: 'EEXIST' });
  const temporary = await writeTemporary(dataDir, access === null ? '' : `${JSON.stringify(access)}\n`);
  try {
    await link(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Removes what processes left that were killed while they wrote a token: no token, though it may hold the text of one. */
async function removeLeftovers(dataDir: string): Promise<void> {
  const names = await readdir(tokenDirectory(dataDir));
  for (const name of names.filter((one) => TEMPORARY.test(one))) {
    const path = tokenFile(dataDir, name);
    const stats = await lstat(path).catch(unless('ENOENT'));
    if (stats !== undefined && Date.now() - stats.mtimeMs > LEFTOVER_MS) await rm(path, { force: true });
  }
}

const TEMPORARY = /^\.[0-9a-f]{16}$/;
/** No process takes this long to write a token. */
const LEFTOVER_MS = 60_000;

/** A file with a new token: 256 random bits. */
async function writeTemporary(dataDir: string, rest: string): Promise<string> {
  const path = tokenFile(dataDir, `.${randomBytes(8).toString('hex')}`);
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(`${randomBytes(32).toString('hex')}\n${rest}`);
    await file.sync();
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
  return path;
}

const unless =
  (code: string) =>
  (error: unknown): undefined => {
    if ((error as NodeJS.ErrnoException).code !== code) throw error;
    return undefined;
  };
