// Blobs as rows of 1 MiB. A blob appears whole or not at all, and is durable when `put` answers, unless it is put without
// durability: then a crash of the server may lose it as a whole.
import { webcrypto } from 'node:crypto';
import { Buffer } from 'node:buffer';
import { type Either, isLeft, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { Digest } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, BLOB_PART_BYTES } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type BlobEnds, type Blobs, blobsClosed, digestBlob, unknownBlob, verifyBlob } from '../blobs/blobs.ts';
import { digestBytes, storedDigest } from './digest-bytes.ts';
import type { Connection, Row } from './driver.ts';
import { type Pool, inTransaction } from './pool.ts';
import { catchLost } from './refused.ts';

type Answer<T> = Either<Rejection, T>;

/** A larger blob is hashed on a thread of the platform, so that it does not hold the event loop. */
const HASHED_INLINE_BYTES_MAX = 1_048_576;

/** Digests in one page of their list. */
const PAGE = 1_000;

export function openPostgresBlobs(pool: Pool): Blobs {
  let closed = false;
  const running = new Set<Promise<unknown>>();

  const working =
    <T>(work: () => Promise<Answer<T>>): TaskEither<Rejection, T> =>
    async () => {
      if (closed) return left(blobsClosed());
      const run = catchLost(work)();
      running.add(run);
      const answer = await run.finally(() => running.delete(run));
      return isLeft(answer) ? answer : answer.right;
    };

  const one = (ref: Digest, statement: string): Promise<Row | undefined> =>
    pool.query(statement, [digestBytes(ref)]).then(([row]) => row);

  return {
    put: (bytes, { durable = true } = {}) =>
      working(async () => {
        const ref = await digestLater(bytes);
        if (isLeft(ref)) return ref;
        const touched = await one(ref.right, 'SELECT refold.touch_blob($1) AS whole');
        if (touched?.['whole'] !== true) await pool.use((using) => writeBlob(using, ref.right, { bytes, durable }));
        return ref;
      }),
    get: (ref) => working(() => readBlob(pool, ref)),
    has: (ref) => working(async () => right((await one(ref, HAS)) !== undefined)),
    ends: (ref, bytes) => working(() => readEnds(pool, ref, bytes)),
    lastPut: (ref) =>
      working(async () => {
        const row = await one(ref, LAST_PUT);
        return row === undefined ? left(unknownBlob(ref)) : right(Number(row['at_ms']));
      }),
    list: () => listBlobs(pool),
    probe: () => working(async () => right(undefined)),
    delete: (ref, { lastPutBeforeMs } = {}) =>
      working(async () => {
        const before = lastPutBeforeMs ?? Number.MAX_SAFE_INTEGER;
        const [row] = await pool.query(DELETE, [digestBytes(ref), before]);
        return row === undefined ? left(unknownBlob(ref)) : right(undefined);
      }),
    close: async () => {
      closed = true;
      await Promise.allSettled(running);
    },
  };
}

const HAS = 'SELECT FROM refold.blob WHERE digest = $1';
const LAST_PUT =
  'SELECT floor(extract(epoch FROM last_put) * 1000)::bigint AS at_ms FROM refold.blob WHERE digest = $1';
// The row is locked before its time is compared, so a put that comes first keeps the blob.
const DELETE = `
WITH gone AS (
  DELETE FROM refold.blob WHERE digest = $1 AND floor(extract(epoch FROM last_put) * 1000)::bigint < $2 RETURNING digest
), parts AS (DELETE FROM refold.blob_part p USING gone WHERE p.digest = gone.digest)
SELECT FROM gone`;

async function digestLater(bytes: Uint8Array): Promise<Answer<Digest>> {
  if (bytes.length <= HASHED_INLINE_BYTES_MAX || bytes.length > BLOB_BYTES_MAX) return digestBlob(bytes);
  const ref = storedDigest(Buffer.from(await webcrypto.subtle.digest('SHA-256', bytes as Uint8Array<ArrayBuffer>)));
  return ref === null ? digestBlob(bytes) : right(ref);
}

interface Written {
  readonly bytes: Uint8Array;
  readonly durable: boolean;
}

const PUT = 'SELECT refold.put_blob($1, $2, $3, $4)';
const PUT_PART = 'INSERT INTO refold.blob_part VALUES ($1, $2, $3)';

async function writeBlob(using: Connection, ref: Digest, { bytes, durable }: Written): Promise<void> {
  const digest = digestBytes(ref);
  const part = (index: number): Buffer =>
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(
      index * BLOB_PART_BYTES,
      (index + 1) * BLOB_PART_BYTES,
    );
  const first = (): Promise<unknown> => using.query(PUT, [digest, bytes.length, part(0), durable]);
  if (bytes.length <= BLOB_PART_BYTES) {
    await first();
    return;
  }
  await inTransaction(using, async () => {
    await first();
    for (let index = 1; index * BLOB_PART_BYTES < bytes.length; index += 1) {
      await using.query(PUT_PART, [digest, index, part(index)]);
    }
  });
}

const PARTS = `
SELECT b.bytes, p.content FROM refold.blob b LEFT JOIN refold.blob_part p ON p.digest = b.digest
 WHERE b.digest = $1 ORDER BY p.part`;

async function readBlob(pool: Pool, ref: Digest): Promise<Answer<Uint8Array>> {
  const rows = await pool.query(PARTS, [digestBytes(ref)]);
  if (rows.length === 0) return left(unknownBlob(ref));
  const parts = rows.flatMap(({ content }) => (Buffer.isBuffer(content) ? [content] : []));
  const whole = new Uint8Array(Buffer.concat(parts));
  const digest = await digestLater(whole);
  return !isLeft(digest) && digest.right === ref ? right(whole) : verifyBlob(ref, whole);
}

const ENDS = `
SELECT b.bytes,
       (SELECT substr(p.content, 1, $2) FROM refold.blob_part p WHERE p.digest = b.digest AND p.part = 0) AS head,
       (SELECT string_agg(CASE WHEN p.part = (b.bytes - 1) / $3 THEN p.content
                               ELSE substr(p.content, greatest(1, octet_length(p.content) - $2 + 1)) END,
                          ''::bytea ORDER BY p.part)
          FROM refold.blob_part p
         WHERE p.digest = b.digest AND p.part >= greatest(0, (b.bytes - $2) / $3)) AS tail
  FROM refold.blob b WHERE b.digest = $1`;

async function readEnds(pool: Pool, ref: Digest, bytes: number): Promise<Answer<BlobEnds>> {
  const [row] = await pool.query(ENDS, [digestBytes(ref), Math.min(bytes, BLOB_PART_BYTES), BLOB_PART_BYTES]);
  if (row === undefined) return left(unknownBlob(ref));
  const { head, tail } = row;
  if (!Buffer.isBuffer(head) || !Buffer.isBuffer(tail)) {
    return left(reject('damaged', '', `blob ${ref} has lost rows; put the same bytes again, or restore a backup`));
  }
  const size = Number(row['bytes']);
  const length = Math.min(size, bytes);
  return right({ bytes: size, head: new Uint8Array(head), tail: new Uint8Array(tail.subarray(tail.length - length)) });
}

async function* listBlobs(pool: Pool): AsyncGenerator<Digest> {
  for (let after = Buffer.alloc(0); ;) {
    const rows = await pool.query('SELECT digest FROM refold.blob WHERE digest > $1 ORDER BY digest LIMIT $2', [
      after,
      PAGE,
    ]);
    for (const { digest } of rows) {
      const ref = storedDigest(digest);
      if (ref !== null) yield ref;
    }
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.['digest'] as Buffer<ArrayBuffer>;
  }
}
