// The pages of transcripts in the journal's store, each under its digest. An append stores those that it sealed in its own
// write. A page that several sessions refer to is stored once: its bytes follow from its key, so it may be put again.
import type { Digest } from '../../schemas/ids.ts';
import { READ_PAGE_BYTES, SWEEP_PAGES } from '../../schemas/limits.ts';
import type { StoredPage } from './journal.ts';
import { digestInKey, pageKey, pagesAfter } from './keys.ts';
import { refuse } from './refusal.ts';
import type { StoreHandle } from './store-handle.ts';
import type { Put, Removal, StoreView } from './store.ts';

export const putsOfPages = (pages: readonly StoredPage[]): readonly Put[] =>
  pages.map(({ digest, bytes }) => ({ key: pageKey(digest), value: bytes }));

/** The digests of the pages after this one; a page of them also ends with READ_PAGE_BYTES of their bytes. */
export async function readPages(view: StoreView, after: Digest | null, limit: number): Promise<readonly Digest[]> {
  const entries = await view.scan(pagesAfter(after), { limit, bytesMax: READ_PAGE_BYTES });
  return entries.map(({ key }) => digestInKey(key) ?? refuse('damaged', 'the key of a page does not name a digest'));
}

/** Deletes those of these pages that are stored, and removes their bytes from the disk. */
export async function deletePages(
  handle: StoreHandle,
  commit: (removals: readonly Removal[]) => Promise<void>,
  digests: readonly Digest[],
): Promise<void> {
  let deleted = 0;
  for (let at = 0; at < digests.length; at += SWEEP_PAGES) {
    const keys = digests.slice(at, at + SWEEP_PAGES).map(pageKey);
    const stored = await handle.use((store) => store.view((view) => view.getMany(keys)));
    const removals = keys.filter((_, index) => stored[index] !== undefined).map((key) => ({ key, value: null }));
    if (removals.length > 0) await commit(removals);
    deleted += removals.length;
  }
  if (deleted > 0) await handle.use((store) => store.compact([pagesAfter(null)]));
}
