// The files of a corpus.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The paths below a folder of a corpus, from the corpora's own folder on; none when there is no such folder. */
export function filesBelow(corpora: string, folder: string): readonly string[] {
  if (!existsSync(join(corpora, folder))) return [];
  return readdirSync(join(corpora, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(corpora.length)
        .replace(/^[/\\]/, ''),
    )
    .toSorted();
}

export const readText = (corpora: string, path: string): string => readFileSync(join(corpora, path), 'utf8');

export interface Line {
  /** `path:line`, the first being 1. */
  readonly place: string;
  readonly text: string;
}

/** The lines of a file that are not blank; none when there is no such file. */
export function linesOf(corpora: string, path: string): readonly Line[] {
  if (!existsSync(join(corpora, path))) return [];
  return readText(corpora, path)
    .split('\n')
    .map((text, index) => ({ place: `${path}:${index + 1}`, text }))
    .filter(({ text }) => text.trim() !== '');
}

/** Names a content that states no digest of its own. */
export const contentDigest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);
