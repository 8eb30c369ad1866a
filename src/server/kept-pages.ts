// The pages in browsers that have a token, in a file beside the tokens of a data directory, so that a page goes on after its
// engine was killed or started again. Of the token of a page the file holds the SHA-256 digest, which opens nothing.
import { randomBytes } from 'node:crypto';
import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { TokenName, VIEWER } from '../../schemas/access.ts';
import { type TypeOf, decode, list, shape, text } from '../../schemas/codec.ts';
import { TimeMs } from '../../schemas/ids.ts';
import { PAGES_MAX } from '../../schemas/limits.ts';
import { PageId, PageScope } from '../../schemas/pages.ts';
import { refuseOpenToOthers, tokenDirectory } from '../client/token-file.ts';
import type { TokenHolder } from './token-holder.ts';

const Sha256 = text('a digest', { min: 64, max: 64, pattern: /^[0-9a-f]+$/ });

const KeptPage = shape('KeptPage', {
  id: PageId,
  scope: PageScope,
  name: TokenName,
  since_ms: TimeMs,
  digest: Sha256,
  /** The token that asked for its code; the page ends with it. */
  asker: shape('KeptAsker', { name: TokenName, digest: Sha256 }),
});
export type KeptPage = TypeOf<typeof KeptPage>;

const PagesFile = list(KeptPage, PAGES_MAX);

export interface KeptPages {
  /** The pages that had a token when the file was written last; none when it is missing, damaged, or open to others. */
  read(): readonly KeptPage[];
  /** A page that cannot be kept has its token until the engine ends. */
  write(pages: readonly KeptPage[]): void;
  /** The holder of the token that a page was asked for with, while it is the same token. */
  askerOf(page: KeptPage): TokenHolder;
}

type HolderOf = (name: string, digest: string) => TokenHolder | null;

/** No name of a token has a dot, so this is the file of none. */
const pageFile = (dataDir: string): string => join(tokenDirectory(dataDir), 'pages.json');

export function keptPages(dataDir: string, holderOf: HolderOf): KeptPages {
  const path = pageFile(dataDir);
  return {
    read() {
      try {
        refuseOpenToOthers(path, lstatSync(path));
        const decoded = decode(PagesFile, JSON.parse(readFileSync(path, 'utf8')));
        return isLeft(decoded) ? [] : decoded.right;
      } catch {
        // Then every page asks for a code again.
        return [];
      }
    },
    write(pages) {
      const temporary = join(tokenDirectory(dataDir), `.${randomBytes(8).toString('hex')}`);
      try {
        writeFileSync(temporary, `${JSON.stringify(pages)}\n`, { mode: 0o600, flag: 'wx' });
        renameSync(temporary, path);
      } catch {
        rmSync(temporary, { force: true });
      }
    },
    askerOf({ asker: { name, digest } }) {
      // Looked up with every request: a token that was replaced ends its pages. What the page may do is its own.
      return { access: VIEWER, file: { name, digest }, isCurrent: () => holderOf(name, digest)?.isCurrent() ?? false };
    },
  };
}
