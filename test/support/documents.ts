// The documents of the repository as tests read them: their texts, their tested examples, their headings.
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const ROOT = new URL('../../', import.meta.url);

/** The file system path of a path in the repository. */
export const inRepository = (path: string): string => fileURLToPath(new URL(path, ROOT));

export const readDocument = (path: string): Promise<string> => readFile(new URL(path, ROOT), 'utf8');

/** `README.md` and every page of `docs/`, by path. */
export async function readDocuments(): Promise<ReadonlyMap<string, string>> {
  const pages = (await readdir(new URL('docs/', ROOT))).filter((name) => name.endsWith('.md')).sort();
  const paths = ['README.md', ...pages.map((name) => `docs/${name}`)];
  const texts = await Promise.all(paths.map(readDocument));
  return new Map(paths.map((path, index) => [path, texts[index] as string]));
}

/** The code of the one example of this name, `<!-- example: NAME -->`, wherever it is. */
export async function readExample(name: string): Promise<string> {
  const pattern = new RegExp(`<!-- example: ${name} -->\\n\`\`\`js\\n([\\s\\S]*?)\`\`\``, 'g');
  const found = [...(await readDocuments()).values()].flatMap((text) => [...text.matchAll(pattern)]);
  const code = found[0]?.[1];
  if (code === undefined || found.length > 1) throw new Error(`${found.length} examples are named "${name}"`);
  return code;
}

/** The lines of a Markdown text outside of fenced code. */
export function proseLines(text: string): readonly string[] {
  let fenced = false;
  return text.split('\n').filter((line) => {
    const fence = /^\s*```/.test(line);
    if (fence) fenced = !fenced;
    return !fenced && !fence;
  });
}

/** The headings of a Markdown text, without their marks. */
export const headingsOf = (text: string): readonly string[] =>
  proseLines(text).flatMap((line) => /^#{1,6} (.+)$/.exec(line)?.[1] ?? []);

/** The anchor of a heading as repository hosts make it: lower case, words joined by hyphens, punctuation dropped. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/ /g, '-');
