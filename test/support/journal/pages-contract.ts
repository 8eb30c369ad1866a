// What the contract of the journal says of the pages of transcripts: a page is stored exactly if its append is.
import { expect, test } from 'vitest';
import { digestText } from '../../../schemas/canonical.ts';
import type { Digest } from '../../../schemas/ids.ts';
import { must } from '../../../src/client/must.ts';
import type { Journal, StoredPage } from '../../../src/journal/journal.ts';
import type { WithJournal } from './journal-contract.ts';
import { outcome } from './outcomes.ts';
import { commitAt, createSample, idleHead, session, storedPage, tombstoneOf, version } from './samples.ts';

const [one, two] = [session('one'), session('two')];

/** The pages that are stored, read one by one and listed in parts. */
async function storedPages(journal: Journal, limit = 2): Promise<readonly StoredPage[]> {
  const pages: StoredPage[] = [];
  for (let after: Digest | null = null; ;) {
    const listed: readonly Digest[] = await must(journal.pages(after, limit));
    if (listed.length === 0) return pages;
    expect(listed.length).toBeLessThanOrEqual(limit);
    for (const digest of listed) {
      const bytes = await must(journal.page(digest));
      if (bytes === null) throw new Error(`${digest} is listed and not stored`);
      pages.push({ digest, bytes: Uint8Array.from(bytes) });
    }
    after = listed.at(-1) ?? null;
  }
}

const inOrder = (pages: readonly StoredPage[]): readonly StoredPage[] =>
  [...pages].sort((a, b) => (a.digest < b.digest ? -1 : 1));

export function pageTests(withJournal: WithJournal): void {
  test(
    'are stored with the append that seals them, also after a reopening',
    withJournal(async ({ journal, reopen }) => {
      const texts = ['a', 'ü€𝄞', 'x'.repeat(200_000), '', 'b'];
      const pages = texts.map(storedPage);
      await must(createSample(journal, one));
      expect(await must(journal.pages(null, 10))).toEqual([]);
      expect(await must(journal.page(digestText('a')))).toBeNull();
      await must(journal.append(one, [commitAt(0, 'e1')], idleHead, pages.slice(0, 1)));
      expect(await storedPages(journal)).toEqual(pages.slice(0, 1));
      await must(journal.append(one, [commitAt(1, 'e2'), commitAt(2, 'e3')], idleHead, pages.slice(1)));
      for (const limit of [1, 2, 10]) expect(await storedPages(journal, limit)).toEqual(inOrder(pages));
      expect(await storedPages(await reopen())).toEqual(inOrder(pages));
    }),
  );

  test(
    'are not stored by an append or a restatement that is refused',
    withJournal(async ({ journal, reopen }) => {
      await must(createSample(journal, one));
      await must(journal.append(one, [commitAt(0, 'e1', 'e2')], idleHead));
      const pages = ['a', 'b'].map(storedPage);
      const refused = [
        journal.append(one, [commitAt(0, 'e3')], idleHead, pages),
        journal.append(one, [commitAt(3, 'e3')], idleHead, pages),
        journal.append(one, [commitAt(2, 'e1')], idleHead, pages),
        journal.append(one, [commitAt(2, 'e3', 'e3')], idleHead, pages),
        journal.restate(one, version(1), idleHead, pages),
      ];
      for (const write of refused) expect(await outcome(write)).toBe('version_conflict');
      expect(await outcome(journal.append(two, [commitAt(0, 'e1')], idleHead, pages))).toBe('unknown_session');
      expect(await storedPages(journal)).toEqual([]);
      expect(await storedPages(await reopen())).toEqual([]);
    }),
  );

  test(
    'are those of the winner of a race, and of no other',
    withJournal(async ({ journal, reopen }) => {
      await must(createSample(journal, one));
      const pages = Array.from({ length: 20 }, (_, n) => storedPage(`page ${n}`));
      const answers = await Promise.all(
        pages.map((page, n) => outcome(journal.append(one, [commitAt(0, `e${n}`)], idleHead, [page]))),
      );
      const won = pages.filter((_, n) => answers[n] === 'done');
      expect(won).toHaveLength(1);
      expect(await storedPages(journal)).toEqual(won);
      expect(await storedPages(await reopen())).toEqual(won);
    }),
  );

  test(
    'are stored once for all sessions, and outlive each of them',
    withJournal(async ({ journal, reopen }) => {
      const [shared, own] = [storedPage('shared'), storedPage('own')];
      for (const id of [one, two]) {
        await must(createSample(journal, id));
        await must(journal.append(id, [commitAt(0, 'e1')], idleHead, [shared]));
      }
      await must(journal.append(one, [commitAt(1, 'e2')], idleHead, [own, shared]));
      await must(journal.delete(tombstoneOf(one, 2)));
      expect(await storedPages(journal)).toEqual(inOrder([shared, own]));
      expect(await storedPages(await reopen())).toEqual(inOrder([shared, own]));
    }),
  );

  test(
    'may be stored without events, at the version of their stream',
    withJournal(async ({ journal, reopen }) => {
      await must(createSample(journal, one));
      const page = storedPage('again');
      await must(journal.restate(one, version(0), idleHead, [page]));
      expect(await storedPages(journal)).toEqual([page]);
      expect(await storedPages(await reopen())).toEqual([page]);
    }),
  );

  test(
    'are gone when they are deleted, and no others',
    withJournal(async ({ journal, reopen }) => {
      const pages = Array.from({ length: 5 }, (_, n) => storedPage(`page ${n}`));
      await must(createSample(journal, one));
      await must(journal.append(one, [commitAt(0, 'e1')], idleHead, pages));
      await must(journal.deletePages([]));
      const [first, second, ...rest] = pages as [StoredPage, StoredPage, ...StoredPage[]];
      await must(journal.deletePages([first.digest, digestText('never stored'), second.digest]));
      expect(await must(journal.page(first.digest))).toBeNull();
      expect(await storedPages(journal)).toEqual(inOrder(rest));
      const again = await reopen();
      expect(await storedPages(again)).toEqual(inOrder(rest));
      expect(await must(again.head(one))).toMatchObject({ version: 1 });
    }),
  );

  test(
    'cannot be read or deleted once the journal is closed',
    withJournal(async ({ journal }) => {
      await journal.close();
      const asked = [journal.page(digestText('a')), journal.pages(null, 1), journal.deletePages([])];
      for (const task of asked) expect(await outcome(task)).toBe('closing');
    }),
  );
}
