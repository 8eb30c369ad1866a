// The blob port: bytes stored under their digest. State and events contain references; the payloads are here.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { PutBlobOptions } from '../../schemas/wire.ts';

/** The beginning and the end of a blob. */
export interface BlobEnds {
  /** The length of the whole blob. */
  readonly bytes: number;
  /** Its first bytes. */
  readonly head: Uint8Array;
  /** Its last bytes. */
  readonly tail: Uint8Array;
}

export interface DeleteBlobOptions {
  /** Deletes only what was last put before this time, in milliseconds since 1970 by the store's clock. */
  readonly lastPutBeforeMs?: number;
}

/** Every failure is a rejection: `unknown_blob`, `too_large`, `damaged`, `storage_failed`, `storage_full`, `closing`. */
export interface Blobs {
  /**
   * Stores bytes (at most BLOB_BYTES_MAX) durably and returns their digest. The caller must not change the bytes before
   * it resolves. Putting the same bytes again succeeds, and repairs a damaged blob. With `durable: false` it resolves
   * before the bytes are written, and they must never change: reads in this process find them, but a crash may lose them
   * as a whole, never a part of them.
   */
  put(bytes: Uint8Array, options?: PutBlobOptions): TaskEither<Rejection, Digest>;
  /** The bytes stored under a digest: `damaged` when their digest does not match, `unknown_blob` when none are stored. */
  get(ref: Digest): TaskEither<Rejection, Uint8Array>;
  /** Whether a blob of this digest exists; its bytes are not read. */
  has(ref: Digest): TaskEither<Rejection, boolean>;
  /** Its size, and its first and last bytes: at most `bytes` of each. Its digest is not checked. `unknown_blob` when none is stored. */
  ends(ref: Digest, bytes: number): TaskEither<Rejection, BlobEnds>;
  /** When the blob was last put, in milliseconds since 1970 by the store's clock; `unknown_blob` when it does not exist. */
  lastPut(ref: Digest): TaskEither<Rejection, number>;
  /** Every digest, in order. A blob put or deleted during the listing may or may not be in it. Throws when it fails. */
  list(): AsyncIterable<Digest>;
  /** Whether blobs can be put now, as far as that shows without putting one. */
  probe(): TaskEither<Rejection, void>;
  /**
   * Deletes durably; `unknown_blob` when the blob does not exist, and when it was put at this time or later: a blob that is
   * put again meanwhile stays.
   */
  delete(ref: Digest, options?: DeleteBlobOptions): TaskEither<Rejection, void>;
  /** Waits for running work; refuses later work as `closing`. */
  close(): Promise<void>;
}

export const unknownBlob = (ref: Digest): Rejection => reject('unknown_blob', '', `blob ${ref} does not exist`);

export const blobsClosed = (): Rejection => reject('closing', '', 'the blob store is closed');

/** The digest of the bytes; `too_large` when they exceed BLOB_BYTES_MAX. */
export function digestBlob(bytes: Uint8Array): Either<Rejection, Digest> {
  if (bytes.length <= BLOB_BYTES_MAX) return right(digestText(bytes));
  return left(reject('too_large', '', `the blob has ${bytes.length} bytes; the limit is ${BLOB_BYTES_MAX}`));
}

/** The bytes when their digest is `ref`, else `damaged`. */
export function verifyBlob(ref: Digest, bytes: Uint8Array): Either<Rejection, Uint8Array> {
  return digestText(bytes) === ref
    ? right(bytes)
    : left(
        reject(
          'damaged',
          '',
          `blob ${ref} is corrupt: its digest does not match; put the same bytes again, or restore a backup`,
        ),
      );
}
