// Reads blobs by digest and caches the most recently used: every generate reads the same pages again.
import { type Either, isRight, right } from 'fp-ts/lib/Either.js';
import type { EngineClient } from '../../src/client/client.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Link } from './link.ts';
import { BLOB_CACHE_BYTES_MAX } from '../../schemas/limits.ts';

export interface BlobReader {
  read(ref: Digest, signal?: AbortSignal): Promise<Either<Rejection, Uint8Array>>;
  /** The bytes if they are cached. */
  kept(ref: Digest): Uint8Array | null;
}

export function newBlobReader(client: EngineClient, link: Link, bytesMax: number = BLOB_CACHE_BYTES_MAX): BlobReader {
  // A Map keeps insertion order, and every read inserts its entry again: the first entry is the least recently used.
  const kept = new Map<Digest, Uint8Array>();
  let bytesKept = 0;

  function drop(ref: Digest): void {
    bytesKept -= kept.get(ref)?.length ?? 0;
    kept.delete(ref);
  }

  function keep(ref: Digest, bytes: Uint8Array): void {
    if (bytes.length > bytesMax / 4) return;
    drop(ref);
    kept.set(ref, bytes);
    bytesKept += bytes.length;
    for (const oldest of kept.keys()) {
      if (bytesKept <= bytesMax) return;
      drop(oldest);
    }
  }

  function use(ref: Digest): Uint8Array | null {
    const known = kept.get(ref);
    if (known === undefined) return null;
    kept.delete(ref);
    kept.set(ref, known);
    return known;
  }

  return {
    kept: use,
    async read(ref, signal) {
      const known = use(ref);
      if (known !== null) return right(known);
      const answer = await link.ask('get_blob', () => client.getBlob(ref), signal);
      if (isRight(answer)) keep(ref, answer.right);
      return answer;
    },
  };
}
