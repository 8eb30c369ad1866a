// The blobs of an engine: those of the blob store, and the sealed pages of transcripts, which the journal stores in the
// append that sealed them. No reader knows the difference. Blobs are put into the blob store only; where both have a digest
// the blob store is read first, so that a page that the journal has lost can be put again.
import { type Either, isLeft, isRight, map, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import { SWEEP_PAGES } from '../../schemas/limits.ts';
import type { Rejection, RejectionCode } from '../../schemas/rejection.ts';
import { type BlobEnds, type Blobs, verifyBlob } from '../blobs/blobs.ts';
import { must } from '../client/must.ts';
import type { Journal } from '../journal/journal.ts';

type Pages = Pick<Journal, 'page' | 'pages' | 'deletePages'>;

type Answer<T> = Promise<Either<Rejection, T>>;

/** When a page counts as put: it is stored with the events that need it and never waits for them, so it is always old. */
export const PAGE_PUT_MS = 0;

export function blobsWithPages(blobs: Blobs, pages: Pages): Blobs {
  /** The answer of the blob store; where it has not the blob, one made of the page. */
  const orOfPage =
    <T>(
      ref: Digest,
      stored: TaskEither<Rejection, T>,
      ofPage: (bytes: Uint8Array) => Either<Rejection, T>,
      missing: ReadonlySet<RejectionCode> = UNKNOWN,
    ): TaskEither<Rejection, T> =>
    async () => {
      const found = await stored();
      if (isRight(found) || !missing.has(found.left.code)) return found;
      const page = await pages.page(ref)();
      if (isLeft(page)) return page;
      return page.right === null ? found : ofPage(page.right);
    };

  return {
    ...blobs,
    get: (ref) => orOfPage(ref, blobs.get(ref), (page) => verifyBlob(ref, page), NOT_WHOLE),
    has: (ref) => async () => {
      const has = await blobs.has(ref)();
      if (isLeft(has) || has.right) return has;
      return map((page) => page !== null)(await pages.page(ref)());
    },
    ends: (ref, bytes) => orOfPage(ref, blobs.ends(ref, bytes), (page) => right(endsOf(page, bytes))),
    lastPut: (ref) => orOfPage(ref, blobs.lastPut(ref), () => right(PAGE_PUT_MS)),
    list: () => merged(blobs.list(), digestsOf(pages)),
    delete: (ref, options) => () => deleteBoth({ blobs, pages }, ref, options),
  };
}

const UNKNOWN: ReadonlySet<RejectionCode> = new Set<RejectionCode>(['unknown_blob']);
const NOT_WHOLE: ReadonlySet<RejectionCode> = new Set<RejectionCode>(['unknown_blob', 'damaged']);

const endsOf = (page: Uint8Array, bytes: number): BlobEnds => ({
  bytes: page.length,
  head: page.slice(0, bytes),
  tail: page.slice(Math.max(0, page.length - bytes)),
});

async function deleteBoth(
  { blobs, pages }: { readonly blobs: Blobs; readonly pages: Pages },
  ref: Digest,
  options: Parameters<Blobs['delete']>[1],
): Answer<void> {
  const page = await pages.page(ref)();
  if (isLeft(page)) return page;
  const deleted = await blobs.delete(ref, options)();
  if (page.right === null || (isLeft(deleted) && deleted.left.code !== 'unknown_blob')) return deleted;
  return await pages.deletePages([ref])();
}

async function* digestsOf(pages: Pages): AsyncGenerator<Digest> {
  for (let after: Digest | null = null; ;) {
    const next: readonly Digest[] = await must(pages.pages(after, SWEEP_PAGES));
    if (next.length === 0) return;
    yield* next;
    after = next.at(-1) ?? null;
  }
}

/** Digests that come in order from both, each once. */
async function* merged(one: AsyncIterable<Digest>, other: AsyncGenerator<Digest>): AsyncGenerator<Digest> {
  try {
    let next = await other.next();
    for await (const ref of one) {
      for (; next.done !== true && next.value <= ref; next = await other.next()) {
        if (next.value < ref) yield next.value;
      }
      yield ref;
    }
    for (; next.done !== true; next = await other.next()) yield next.value;
  } finally {
    await other.return(undefined);
  }
}
