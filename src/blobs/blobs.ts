// The blob port: bytes under their own digest. State and events hold references; the payloads are here.
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { digestText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';

/** Every failure is a rejection: `unknown_blob`, `too_large`, `damaged`, `storage_failed`, `storage_full`, `closing`. */
export interface Blobs {
  /**
   * Stores bytes (at most BLOB_BYTES_MAX; not to be changed before it is done) durably and gives their digest. Again
   * is no error, and repairs a damaged blob.
   */
  put(bytes: Uint8Array): TaskEither<Rejection, Digest>;
  /** The bytes of this digest, checked against it: `damaged` when they have another, `unknown_blob` when absent. */
  get(ref: Digest): TaskEither<Rejection, Uint8Array>;
  /** Whether there is a blob of this digest; its bytes are not read. */
  has(ref: Digest): TaskEither<Rejection, boolean>;
  /** When it was last put, in milliseconds since 1970 by the store's clock; `unknown_blob` when absent. */
  lastPut(ref: Digest): TaskEither<Rejection, number>;
  /** Every digest there is, in order; what is put or deleted meanwhile may be in it or not. Throws when it fails. */
  list(): AsyncIterable<Digest>;
  /** Deletes durably; `unknown_blob` when absent. */
  delete(ref: Digest): TaskEither<Rejection, void>;
  /** Waits for what was begun; what comes later is refused as `closing`. */
  close(): Promise<void>;
}

export const unknownBlob = (ref: Digest): Rejection => reject('unknown_blob', '', `there is no blob ${ref}`);

export const blobsClosed = (): Rejection => reject('closing', '', 'the blobs are closed');

/** The digest of bytes that may become a blob. */
export function digestBlob(bytes: Uint8Array): Either<Rejection, Digest> {
  if (bytes.length <= BLOB_BYTES_MAX) return right(digestText(bytes));
  return left(reject('too_large', '', `a blob of ${bytes.length} bytes; at most ${BLOB_BYTES_MAX} are kept`));
}

/** The bytes themselves when they are those of the digest. */
export function verifyBlob(ref: Digest, bytes: Uint8Array): Either<Rejection, Uint8Array> {
  return digestText(bytes) === ref
    ? right(bytes)
    : left(reject('damaged', '', `the bytes of blob ${ref} are not its own`));
}
