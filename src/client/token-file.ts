// Token files: `tokens/NAME` in a data directory, each readable by its owner only. The first line is the token. The files
// `operator`, `bridge` and `viewer` hold the tokens of these scopes; in every other file a second line says, as JSON, what
// its holder may do.
import type { Stats } from 'node:fs';
import { lstat, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { Access, SCOPES, TokenName, accessFault } from '../../schemas/access.ts';
import { decode } from '../../schemas/codec.ts';
import { parseJson } from '../../schemas/json.ts';

export interface NamedToken {
  readonly token: string;
  readonly access: Access;
}

export const tokenDirectory = (dataDir: string): string => join(dataDir, 'tokens');

/** The file of a token of a data directory; `operator`, `bridge` and `viewer` always exist while an engine serves it. */
export const tokenFile = (dataDir: string, name = 'operator'): string => join(tokenDirectory(dataDir), name);

/** Whether a directory entry can be a token file: unfinished ones begin with a dot. */
export const isTokenName = (name: string): boolean => TokenName.is(name);

/** The token in a file. Throws when others can read the file, when it cannot be read, or contains no token. */
export async function readToken(path: string): Promise<string> {
  refuseOpenToOthers(path, await lstat(path));
  return firstLine(path, await readFile(path, 'utf8'));
}

/** Throws an error that says how to mend the file. */
export function refuseOpenToOthers(path: string, stats: Stats): void {
  if (!stats.isFile()) throw new Error(`${path} is not a regular file; replace it by the token file itself`);
  const mode = stats.mode & 0o777;
  if ((mode & 0o177) === 0) return;
  throw new Error(`${path} has the mode ${mode.toString(8)}, so others may read the token; run: chmod 600 ${path}`);
}

/** The token of a file of this name and text, and what its holder may do. Throws when it contains none. */
export function parseTokenFile(name: string, path: string, text: string): NamedToken {
  const token = firstLine(path, text);
  const scope = SCOPES.find((known) => known === name);
  if (scope !== undefined) return { token, access: { scope } };
  const parsed = parseJson(text.split('\n')[1] ?? '');
  const access = isLeft(parsed) ? parsed : decode(Access, { ...(parsed.right as object), name });
  const fault = isLeft(access) ? access.left.message : accessFault(access.right);
  if (isLeft(access) || fault !== null) {
    throw new Error(`${path} does not say what its token is for (${fault}); revoke it, and create it again`);
  }
  return { token, access: access.right };
}

function firstLine(path: string, text: string): string {
  const token = (text.split('\n')[0] ?? '').trim();
  if (!/^[\x21-\x7e]+$/.test(token))
    throw new Error(`${path} contains no token; delete it, and start the engine again`);
  return token;
}
