// Nothing in the documents dangles: relative links lead to files and headings that exist. Citations in code are checked in
// test/conventions/references.test.ts.
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { LAWS } from '../../src/testing/index.ts';
import { anchorOf, headingsOf, inRepository, proseLines, readDocument } from '../support/documents.ts';

/** Every file of the repository, by path; not what is installed, built or hidden. */
async function filesOf(folder: string): Promise<readonly string[]> {
  const entries = await readdir(inRepository(folder), { withFileTypes: true });
  const found = entries.map(async (entry): Promise<readonly string[]> => {
    const path = posix.join(folder, entry.name);
    if (!entry.isDirectory()) return [path];
    return LEFT_OUT.has(entry.name) || entry.name.startsWith('.') ? [] : await filesOf(path);
  });
  return (await Promise.all(found)).flat();
}

const LEFT_OUT: ReadonlySet<string> = new Set(['node_modules', 'dist', 'coverage']);

const files = await filesOf('.');

const documents = files.filter((path) => path.endsWith('.md'));

/** The relative links of a Markdown text; text inside code is not a link. */
const linksOf = (text: string): readonly string[] =>
  proseLines(text)
    .map((line) => line.replaceAll(/`[^`]*`(?!\])/g, ''))
    .flatMap((line) => [...line.matchAll(/\]\(([^)\s]+)\)/g)])
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));

/** Why a link leads nowhere; null when it leads somewhere. */
async function faultOf(from: string, link: string): Promise<string | null> {
  const [path = '', anchor] = link.split('#');
  const target = path === '' ? from : posix.join(posix.dirname(from), path);
  if (!existsSync(inRepository(target))) return `${link}: there is no ${target}`;
  if (anchor === undefined) return null;
  const anchors = headingsOf(await readDocument(target)).map(anchorOf);
  return anchors.includes(anchor) ? null : `${link}: ${target} has no such heading`;
}

test.each(documents)('every relative link in %s resolves', async (document) => {
  const links = linksOf(await readDocument(document));
  const faults = await Promise.all(links.map((link) => faultOf(document, link)));
  expect(faults.filter((fault) => fault !== null)).toEqual([]);
});

test('the index of docs/ links to every page', async () => {
  const linked = new Set(linksOf(await readDocument('docs/README.md')));
  const pages = documents.filter((path) => /^docs\/(?!README)/.test(path)).map((path) => path.slice('docs/'.length));
  expect(pages.filter((page) => !linked.has(page))).toEqual([]);
});

describe('the design', () => {
  test('has the laws 1 to 26, in order', async () => {
    const laws = [...(await readDocument('docs/design.md')).matchAll(/^(\d+)\. \*\*/gm)].map(([, number]) =>
      Number(number),
    );
    expect(laws).toEqual(Array.from({ length: 26 }, (_, index) => index + 1));
  });

  test('names the laws as the judge of the simulator does', async () => {
    const names = [...(await readDocument('docs/design.md')).matchAll(/^\d+\. \*\*([^.*]+)/gm)].map(([, name = '']) =>
      name.toLowerCase(),
    );
    expect(names).toEqual(LAWS.map(({ name }) => name));
  });
});
