// Joins blobs into one: how a client stores a large blob without one large request. The parts are blobs like any other,
// so nothing is kept of an upload that is never finished but blobs, which are bounded (unnamed-blobs.ts), and which `refold gc`
// deletes.
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import { pipe } from 'fp-ts/lib/function.js';
import * as TE from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, BLOB_JOINS_WAITING_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { JoinBlobs } from '../../schemas/wire.ts';
import type { Blobs } from '../blobs/blobs.ts';
import { openKeyedWork } from '../blobs/keyed-work.ts';
import type { UnnamedBlobs } from './unnamed-blobs.ts';

type Answer<T> = Promise<Either<Rejection, T>>;

/** Stores the joined bytes, and returns their digest. One join runs at a time: each needs as much memory as its blob and one part. */
export type BlobJoins = (request: JoinBlobs) => Answer<Digest>;

export function newBlobJoins(blobs: Blobs, unnamed: UnnamedBlobs): BlobJoins {
  const work = openKeyedWork(1);
  let waiting = 0;
  return async ({ parts }) => {
    if (waiting >= BLOB_JOINS_WAITING_MAX) {
      const message = `${BLOB_JOINS_WAITING_MAX} requests to join blobs wait already; try again later`;
      return left(reject('queue_full', '', message));
    }
    waiting += 1;
    try {
      return await work.run('join', () => join({ blobs, unnamed }, parts));
    } finally {
      waiting -= 1;
    }
  };
}

interface Stores {
  readonly blobs: Blobs;
  readonly unnamed: UnnamedBlobs;
}

const join = ({ blobs, unnamed }: Stores, parts: readonly Digest[]): Answer<Digest> =>
  pipe(
    () => sizeOf(blobs, parts),
    TE.chain((size) => () => readAll(blobs, parts, size)),
    TE.chain((bytes) => () => unnamed.put(bytes.length, blobs.put(bytes), parts)),
  )();

async function readAll(blobs: Blobs, parts: readonly Digest[], size: number): Answer<Uint8Array> {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const [index, ref] of parts.entries()) {
    const part = await blobs.get(ref)();
    if (isLeft(part)) return atPart(index, part.left);
    if (at + part.right.length > size) return atPart(index, changed(ref));
    bytes.set(part.right, at);
    at += part.right.length;
  }
  return at === size ? right(bytes) : left(changed(parts.at(-1)));
}

/** The bytes of all parts together, before any of them is read. */
async function sizeOf(blobs: Blobs, parts: readonly Digest[]): Answer<number> {
  let size = 0;
  for (const [index, ref] of parts.entries()) {
    const ends = await blobs.ends(ref, 1)();
    if (isLeft(ends)) return atPart(index, ends.left);
    size += ends.right.bytes;
    if (size > BLOB_BYTES_MAX) {
      const message = `the parts have more than ${BLOB_BYTES_MAX} bytes together; no blob is larger`;
      return atPart(index, reject('too_large', '', message));
    }
  }
  return right(size);
}

const atPart = (index: number, rejection: Rejection): Either<Rejection, never> =>
  left({ ...rejection, path: `/parts/${index}` });

const changed = (ref: Digest | undefined): Rejection =>
  reject('damaged', '', `blob ${ref ?? 'none'} has another size than before; put the same bytes again`);
