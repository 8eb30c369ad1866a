// Bounds the blobs that clients put and no event names: uploads that are never finished would fill the disk until the next
// `refold gc`. A blob counts from its put until an event names it or it is joined into another one; the joined one counts
// then. What was put by an earlier process does not count.
import { type Either, isRight, left } from 'fp-ts/lib/Either.js';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import { UNNAMED_BLOB_BYTES_MAX, UNNAMED_BLOB_BYTES_MIN } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { contentRefs, responseRef } from '../core/content-refs.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

export interface UnnamedBlobs {
  /**
   * Puts a blob of so many bytes, unless too many bytes are unnamed: then `uploads_full`, and nothing is put. It counts in the
   * place of its parts.
   */
  put(bytes: number, work: () => Answer<Digest>, parts?: readonly Digest[]): Answer<Digest>;
  /** An event names these blobs. */
  named(refs: Iterable<Digest>): void;
}

export function newUnnamedBlobs(bytesMax: number = UNNAMED_BLOB_BYTES_MAX): UnnamedBlobs {
  const known = new Map<Digest, number>();
  let total = 0;

  const forget = (refs: Iterable<Digest>): void => {
    for (const ref of refs) {
      total -= known.get(ref) ?? 0;
      known.delete(ref);
    }
  };

  return {
    async put(bytes, work, parts = []) {
      // Small blobs count as more, so that their number is bounded, too.
      const cost = Math.max(bytes, UNNAMED_BLOB_BYTES_MIN);
      const freed = [...new Set(parts)].reduce((sum, part) => sum + (known.get(part) ?? 0), 0);
      if (total - freed + cost > bytesMax) return left(uploadsFull(total, bytesMax));
      // Counted before it is written, so that many at a time do not exceed the bound together.
      total += cost;
      const put = await work();
      if (isRight(put)) forget(parts);
      if (isRight(put) && !known.has(put.right)) known.set(put.right, cost);
      else total -= cost;
      return put;
    },
    named: forget,
  };
}

/** The blobs that a request names: those of its contents, and the responses of models in its events. */
export function namedBlobs(request: object): readonly Digest[] {
  const events = 'events' in request && Array.isArray(request.events) ? request.events : [];
  const named = contentRefs(request).map(({ ref }) => ref);
  for (const event of events as readonly IngressEvent[]) {
    const response = responseRef(event);
    if (response !== null) named.push(response.ref);
  }
  return named;
}

const uploadsFull = (total: number, bytesMax: number): Rejection =>
  reject(
    'uploads_full',
    '',
    `${total} of at most ${bytesMax} bytes were put that no event names; name them in events, or stop the engine, run refold gc, and start it again`,
  );
