// A page keeps its token when its engine ends, whatever way, and starts again: as long as the token that asked for it is the same.
import { chmod, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mustBe } from '../../src/client/must.ts';
import { readToken, tokenFile } from '../../src/client/token-file.ts';
import { type Pages, newPages } from '../../src/server/pages.ts';
import { rotateToken } from '../../src/server/token-store.ts';
import { type Tokens, openTokens } from '../../src/server/tokens.ts';
import { freshDirectory } from '../support/e2e/refold.ts';

interface Server {
  readonly tokens: Tokens;
  readonly pages: Pages;
}

/** What a server that starts on this data directory knows. */
async function start(dataDir: string): Promise<Server> {
  const tokens = await openTokens(dataDir);
  return { tokens, pages: newPages(undefined, tokens.pages) };
}

async function newPage({ tokens, pages }: Server, dataDir: string): Promise<string> {
  const asker = tokens.find(await readToken(tokenFile(dataDir, 'operator')));
  if (asker === null) return expect.fail('the operator token is unknown');
  return mustBe(pages.exchange(mustBe(pages.ask(asker, { scope: 'operator', name: 'ada' })).code)).token;
}

const pageFile = (dataDir: string): string => join(dataDir, 'tokens', 'pages.json');

test('a page of an engine that was killed is known to the next one, with its scope and name, and gets no second id', async () => {
  const dataDir = await freshDirectory();
  const first = await start(dataDir);
  const token = await newPage(first, dataDir);
  const next = await start(dataDir);
  expect(next.pages.find(token)?.access).toEqual({ scope: 'operator', name: 'ada' });
  expect(next.pages.find(token)?.isPage).toBe(true);
  await newPage(next, dataDir);
  expect((await start(dataDir)).pages.list().pages.map(({ id }) => id)).toEqual(['page.1', 'page.2']);
});

test('the file is open to nobody else and has no token of a page in it', async () => {
  const dataDir = await freshDirectory();
  const token = await newPage(await start(dataDir), dataDir);
  expect((await stat(pageFile(dataDir))).mode & 0o777).toBe(0o600);
  expect(await readFile(pageFile(dataDir), 'utf8')).not.toContain(token);
  const listed = (await start(dataDir)).tokens.find('pages.json');
  expect(listed).toBe(null);
});

test('a page ends with the token that asked for its code, and when it is ended', async () => {
  const dataDir = await freshDirectory();
  const server = await start(dataDir);
  const [kept, ended] = [await newPage(server, dataDir), await newPage(server, dataDir)];
  expect(server.pages.end('page.2')).toBe(true);
  const next = await start(dataDir);
  expect(next.pages.find(ended)).toBe(null);
  expect(next.pages.find(kept)?.isCurrent()).toBe(true);
  await rotateToken(dataDir, 'operator');
  expect(next.pages.find(kept)).toBe(null);
  expect((await start(dataDir)).pages.find(kept)).toBe(null);
});

test.each([
  ['is damaged', (path: string) => writeFile(path, '[{"id":"page.1"')],
  ['has another shape', (path: string) => writeFile(path, '[{"id":"page.1","scope":"root"}]')],
  ['is open to others', (path: string) => chmod(path, 0o644)],
])('no page is known when the file %s', async (_, spoil) => {
  const dataDir = await freshDirectory();
  const token = await newPage(await start(dataDir), dataDir);
  await spoil(pageFile(dataDir));
  const next = await start(dataDir);
  expect(next.pages.find(token)).toBe(null);
  // The next page is kept again.
  const again = await newPage(next, dataDir);
  expect((await start(dataDir)).pages.find(again)?.access.name).toBe('ada');
});
