// The tokens that a server accepts. Those of a data directory are looked up in their files with every request, so that a
// token that was replaced or removed is refused at once.
import { createHash, timingSafeEqual } from 'node:crypto';
import { type Stats, lstatSync, readFileSync, readdirSync } from 'node:fs';
import { BRIDGE, OPERATOR, type Scope, VIEWER } from '../../schemas/access.ts';
import {
  type NamedToken,
  isTokenName,
  parseTokenFile,
  refuseOpenToOthers,
  tokenDirectory,
  tokenFile,
} from '../client/token-file.ts';
import { addOwnPlace } from '../files/own-places.ts';
import { type KeptPages, keptPages } from './kept-pages.ts';
import type { TokenHolder } from './token-holder.ts';
import { ensureTokens } from './token-store.ts';

export interface Tokens {
  /** The holder of this token; null for an unknown one. Takes the same time for each wrong one. */
  find(given: string): TokenHolder | null;
  /** Keeps the pages that got a token for one of these; without it they end with the server. */
  readonly pages?: KeptPages;
}

/** Tokens that never change, by scope. Throws a TypeError for one that no client could send in a header. */
export function fixedTokens(tokens: Partial<Readonly<Record<Scope, string>>>): Tokens {
  const accesses = { operator: OPERATOR, bridge: BRIDGE, viewer: VIEWER } as const;
  const known = Object.entries(tokens).map(([scope, token]) => {
    const text: unknown = token;
    if (typeof text !== 'string' || !/^[\x21-\x7e]+$/.test(text)) {
      throw new TypeError(`the ${scope} token must be printable ASCII without spaces, and not empty`);
    }
    return { digest: digestOf(text), access: accesses[scope as Scope], isCurrent: () => true };
  });
  return { find: (given) => findIn(known, given) };
}

/** The tokens of a data directory, created where they are missing. Throws when a file may be read by others. */
export async function openTokens(dataDir: string): Promise<Tokens> {
  await ensureTokens(dataDir);
  addOwnPlace(dataDir);
  const directory = tokenDirectory(dataDir);
  refuseForeign(directory, lstatSync(directory));
  // Checked with every request: the name of a file says what its token allows, and who may write there can rename one.
  const isOwn = (): boolean => isOwnDirectory(directory);
  let known = readAll(dataDir, new Map(), (error) => {
    throw error;
  });
  const inFile = (name: string, digest: string): TokenHolder | null => {
    const isIt = ({ file }: FileToken): boolean => file?.name === name && file.digest === digest;
    known = readAll(dataDir, known, () => undefined);
    return isOwn() ? ([...known.values()].find(isIt) ?? null) : null;
  };
  return {
    pages: keptPages(dataDir, inFile),
    find(given) {
      if (!isOwn()) return null;
      const found = findIn([...known.values()], given);
      if (found?.isCurrent() === true) return found;
      // A token may be new, and a file of an unknown or changed one is read before it is refused.
      known = readAll(dataDir, known, () => undefined);
      return findIn([...known.values()], given);
    },
  };
}

interface KnownToken extends TokenHolder {
  readonly digest: Buffer;
}

interface FileToken extends KnownToken {
  readonly version: string;
}

const digestOf = (token: string): Buffer => createHash('sha256').update(token).digest();

/** Compares with every token in constant time. */
function findIn<T extends KnownToken>(known: readonly T[], given: string): T | null {
  const digest = digestOf(given);
  let found: T | null = null;
  for (const token of known) if (timingSafeEqual(token.digest, digest)) found = token;
  return found;
}

/** Every token of the directory; one whose file has not changed is taken from `before`. A file at fault is left out. */
function readAll(
  dataDir: string,
  before: ReadonlyMap<string, FileToken>,
  onFault: (error: unknown) => void,
): ReadonlyMap<string, FileToken> {
  const known = new Map<string, FileToken>();
  const directory = tokenDirectory(dataDir);
  for (const name of namesIn(directory, onFault)) {
    const path = tokenFile(dataDir, name);
    try {
      const stats = lstatSync(path);
      const version = versionOf(stats);
      const kept = before.get(name);
      if (kept?.version === version) known.set(name, kept);
      else
        known.set(name, {
          ...readOne(name, path, stats),
          version,
          isCurrent: () => isOwnDirectory(directory) && isVersion(path, version),
        });
    } catch (error) {
      onFault(error);
    }
  }
  return known;
}

function namesIn(directory: string, onFault: (error: unknown) => void): readonly string[] {
  try {
    return readdirSync(directory).filter(isTokenName);
  } catch (error) {
    onFault(error);
    return [];
  }
}

function readOne(name: string, path: string, stats: Stats): Pick<KnownToken, 'digest' | 'access' | 'file'> {
  refuseOpenToOthers(path, stats);
  refuseForeign(path, stats);
  const { token, access }: NamedToken = parseTokenFile(name, path, readFileSync(path, 'utf8'));
  const digest = digestOf(token);
  return { digest, access, file: { name, digest: digest.toString('hex') } };
}

/** Throws when another user can write there: a user who puts a token of their own there becomes an operator. */
function refuseForeign(path: string, { uid, mode }: Stats): void {
  const own = process.getuid?.();
  if (own !== undefined && uid !== own && uid !== 0) {
    throw new Error(
      `${path} belongs to the user ${uid}, who may know or replace the token; delete it if you did not make it, or run: ` +
        `chown ${own} ${path}`,
    );
  }
  if ((mode & 0o022) !== 0) throw new Error(`others may write ${path}; run: chmod go-w ${path}`);
}

function isOwnDirectory(path: string): boolean {
  try {
    refuseForeign(path, lstatSync(path));
    return true;
  } catch {
    return false;
  }
}

/** Differs for each content and mode that a file has had. */
const versionOf = ({ dev, ino, size, mode, mtimeMs, ctimeMs }: Stats): string =>
  [dev, ino, size, mode, mtimeMs, ctimeMs].join(' ');

function isVersion(path: string, version: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats !== undefined && versionOf(stats) === version;
}
