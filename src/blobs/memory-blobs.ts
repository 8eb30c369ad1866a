// Blobs in memory, for tests, simulation and short-lived embedding. They are lost when the process ends.
import { type Either, left, map, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { type Blobs, blobsClosed, digestBlob, unknownBlob, verifyBlob } from './blobs.ts';

export function openMemoryBlobs(now: () => number = Date.now): Blobs {
  const blobs = new Map<Digest, Uint8Array>();
  const lastPuts = new Map<Digest, number>();
  let closed = false;

  const answering =
    <T>(work: () => Either<Rejection, T>): TaskEither<Rejection, T> =>
    async () =>
      closed ? left(blobsClosed()) : work();

  return {
    put: (bytes) =>
      answering(() =>
        map((ref: Digest) => {
          // Copied here and in `get`, so that no caller can change the stored bytes.
          blobs.set(ref, bytes.slice());
          lastPuts.set(ref, now());
          return ref;
        })(digestBlob(bytes)),
      ),
    get: (ref) =>
      answering(() => {
        const bytes = blobs.get(ref);
        return bytes === undefined ? left(unknownBlob(ref)) : verifyBlob(ref, bytes.slice());
      }),
    has: (ref) => answering(() => right(blobs.has(ref))),
    ends: (ref, bytes) =>
      answering(() => {
        const stored = blobs.get(ref);
        if (stored === undefined) return left(unknownBlob(ref));
        const tail = stored.slice(Math.max(0, stored.length - bytes));
        return right({ bytes: stored.length, head: stored.slice(0, bytes), tail });
      }),
    lastPut: (ref) => answering(() => (blobs.has(ref) ? right(lastPuts.get(ref) ?? 0) : left(unknownBlob(ref)))),
    list: async function* list() {
      yield* [...blobs.keys()].sort();
    },
    probe: () => answering(() => right(undefined)),
    delete: (ref, { lastPutBeforeMs = Infinity } = {}) =>
      answering(() => {
        if ((lastPuts.get(ref) ?? 0) >= lastPutBeforeMs) return left(unknownBlob(ref));
        return blobs.delete(ref) ? right(undefined) : left(unknownBlob(ref));
      }),
    close: async () => {
      closed = true;
    },
  };
}
