// Stores a blob of any size without one large request: in parts, which the engine joins. Sending it again after a failure is
// safe, because a part that is stored already is the same blob.
import { isLeft, left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, BLOB_PART_BYTES } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { EngineClient } from './client.ts';

/** The digest of the whole; `too_large` when the bytes exceed BLOB_BYTES_MAX. */
export const uploadBlob =
  (client: Pick<EngineClient, 'putBlob' | 'joinBlobs'>, bytes: Uint8Array): TaskEither<Rejection, Digest> =>
  async () => {
    if (bytes.length <= BLOB_PART_BYTES) return await client.putBlob(bytes)();
    if (bytes.length > BLOB_BYTES_MAX) {
      return left(reject('too_large', '', `the blob has ${bytes.length} bytes; the limit is ${BLOB_BYTES_MAX}`));
    }
    const parts: Digest[] = [];
    for (let at = 0; at < bytes.length; at += BLOB_PART_BYTES) {
      const part = await client.putBlob(bytes.subarray(at, at + BLOB_PART_BYTES))();
      if (isLeft(part)) return part;
      parts.push(part.right);
    }
    return await client.joinBlobs({ parts })();
  };
