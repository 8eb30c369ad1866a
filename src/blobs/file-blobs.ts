// Blobs as files, `<directory>/ab/cd/<64 hex digits>`. A blob appears whole or not at all: its bytes are written to a
// temporary file, synced and renamed, and the directories on its path are synced. Without any one of these syncs, a power
// cut loses acknowledged blobs. A blob put without durability is synced before its rename too, but later than its put is
// answered, and its directories are not synced: a power cut may lose it, and never leaves a part of it. Only one process at a time may have the directory open.
import { randomUUID, webcrypto } from 'node:crypto';
import { constants, type FileHandle, open, readdir, rename, rm, stat, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type Either, isRight, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { Digest, brand } from '../../schemas/ids.ts';
import { BLOB_BYTES_MAX, FILES_OPEN_MAX, LATE_PUT_BYTES_MAX } from '../../schemas/limits.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import { type Anchor, PUT_BACK, anchorDirectory } from '../files/anchor.ts';
import { makeDirectory, syncDirectory } from '../files/directories.ts';
import { codeOf, fileFailure, storageCode } from '../files/file-failure.ts';
import { type BlobEnds, type Blobs, blobsClosed, digestBlob, unknownBlob, verifyBlob } from './blobs.ts';
import { openKeyedWork } from './keyed-work.ts';
import { newLatePuts } from './late-puts.ts';
import { type DirectoryPair, type SyncedDirectories, newSyncedDirectories } from './synced-directories.ts';

const FILE_MODE = 0o600;
const DIGEST_PREFIX = 'sha256:';
const TEMPORARY = 'tmp';

type Answer<T> = Either<Rejection, T>;

/** Opens or creates the blobs in `directory`, and removes what interrupted writes left there. */
export const openFileBlobs = (directory: string): TaskEither<Rejection, Blobs> =>
  rejecting('opening the blobs', async () => {
    await makeDirectory(directory);
    const isReady = await clearTemporary(join(directory, TEMPORARY));
    return right(blobsIn(directory, anchorDirectory(directory), isReady));
  });

/** Removes what interrupted writes left. A full disk does not stop the opening: false when the directory is still to be made. */
async function clearTemporary(temporary: string): Promise<boolean> {
  try {
    await rm(temporary, { recursive: true, force: true });
    await makeDirectory(temporary);
    return true;
  } catch (error) {
    if (storageCode(codeOf(error) ?? '') !== 'storage_full') throw error;
    return false;
  }
}

function blobsIn(directory: string, anchor: Anchor, isReady: boolean): Blobs {
  let hasTemporary = isReady;
  const keyed = openKeyedWork(FILES_OPEN_MAX);
  const directories = newSyncedDirectories();
  const late = newLatePuts(LATE_PUT_BYTES_MAX);
  let closed = false;

  const working = <T>(doing: string, ref: Digest, work: () => Promise<Answer<T>>): TaskEither<Rejection, T> =>
    rejecting(doing, async () => {
      if (closed) return left(blobsClosed());
      const earlier = late.pending(ref);
      // Not while it holds its place in the order of this blob, in which the write comes too.
      if (earlier !== null) await earlier;
      return await keyed.run(ref, work);
    });

  async function write(ref: Digest, bytes: Uint8Array, durable: boolean): Promise<Answer<Digest>> {
    const loss = lossOf(anchor);
    if (loss !== null) return left(loss);
    if (!hasTemporary) await makeDirectory(join(directory, TEMPORARY));
    hasTemporary = true;
    const once = (): Promise<Answer<Digest>> => writeBlob({ directory, directories }, ref, { bytes, durable });
    const written = await once().catch(async (error: unknown) => {
      // A program that removes temporary files may have taken the directory for them.
      if (codeOf(error) !== 'ENOENT' || lossOf(anchor) !== null) throw error;
      await makeDirectory(join(directory, TEMPORARY));
      return await once();
    });
    // A directory that was removed or replaced meanwhile took the blob with it.
    const lostSince = lossOf(anchor);
    return lostSince === null ? written : left(lostSince);
  }

  return {
    put:
      (bytes, { durable = true } = {}) =>
      async () => {
        const ref = isLarge(bytes) ? right(await hashLater(bytes)) : digestBlob(bytes);
        if (!isRight(ref)) return ref;
        if (durable) return await working('writing a blob', ref.right, () => write(ref.right, bytes, true))();
        const loss = closed ? blobsClosed() : lossOf(anchor);
        if (loss !== null) return left(loss);
        await late.add(ref.right, bytes.length, () => keyed.run(ref.right, () => write(ref.right, bytes, false)));
        return ref;
      },
    get: (ref) => working('reading a blob', ref, () => readBlob(directory, ref)),
    has: (ref) => working('looking for a blob', ref, async () => right(await isFile(placeOf(directory, ref).file))),
    ends: (ref, bytes) =>
      working('reading a blob', ref, () => reading(directory, ref, (file, size) => readEnds(file, size, bytes))),
    lastPut: (ref) => working('looking at a blob', ref, () => lastPutOf(directory, ref)),
    list: () => listBlobs(directory),
    probe: () => () => {
      const loss = closed ? blobsClosed() : lossOf(anchor);
      return Promise.resolve(loss === null ? right(undefined) : left(loss));
    },
    delete: (ref, { lastPutBeforeMs = Infinity } = {}) =>
      working('deleting a blob', ref, () => deleteBlob(directory, ref, lastPutBeforeMs)),
    close: async () => {
      closed = true;
      await late.settled();
      await keyed.settled();
      anchor.close();
    },
  };
}

function lossOf(anchor: Anchor): Rejection | null {
  const lost = anchor.lost();
  return lost === null
    ? null
    : reject('storage_failed', '', `the blobs are no longer in their place: ${lost}; ${PUT_BACK}`);
}

/** A larger blob is hashed on a thread of the platform, so that it does not hold the event loop. */
const HASHED_INLINE_BYTES_MAX = 1_048_576;

const isLarge = ({ length }: Uint8Array): boolean => length > HASHED_INLINE_BYTES_MAX && length <= BLOB_BYTES_MAX;

async function hashLater(bytes: Uint8Array): Promise<Digest> {
  const hash = await webcrypto.subtle.digest('SHA-256', bytes);
  return brand<'Digest'>(`${DIGEST_PREFIX}${Buffer.from(hash).toString('hex')}`);
}

interface Place {
  readonly pair: DirectoryPair;
  readonly file: string;
}

function placeOf(directory: string, ref: Digest): Place {
  const hex = ref.slice(DIGEST_PREFIX.length);
  const outer = join(directory, hex.slice(0, 2));
  const inner = join(outer, hex.slice(2, 4));
  return { pair: [outer, inner], file: join(inner, hex) };
}

interface BlobRoot {
  readonly directory: string;
  readonly directories: SyncedDirectories;
}

async function writeBlob(
  { directory, directories }: BlobRoot,
  ref: Digest,
  { bytes, durable }: { readonly bytes: Uint8Array; readonly durable: boolean },
): Promise<Answer<Digest>> {
  const { pair, file } = placeOf(directory, ref);
  const make = (): Promise<void> => (durable ? directories.ensure(pair) : directories.create(pair));
  if (await hasWholeBlob(directory, ref)) {
    // Blob collection keeps a blob for a while after this time.
    // In seconds, a double may be below the millisecond that it stands for, and would be read as the one before.
    const now = (Date.now() + 0.01) / 1_000;
    await utimes(file, now, now);
    await make();
  } else {
    const temporary = join(directory, TEMPORARY, randomUUID());
    try {
      // Both wait for the disk, so they run concurrently.
      await allDone([writeSynced(temporary, bytes), make()]);
      await moveTo(temporary, { pair, file }, directories);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }
  // Also for a blob that existed before: the process that put it may have died between its rename and this sync.
  if (durable) await syncDirectory(pair[1]);
  return right(ref);
}

/** Waits for all of the work, also when some of it fails; then throws the first error in the list. */
async function allDone(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find((one) => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

async function moveTo(temporary: string, { pair, file }: Place, directories: SyncedDirectories): Promise<void> {
  try {
    await rename(temporary, file);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    directories.forget(pair);
    await directories.ensure(pair);
    await rename(temporary, file);
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const file = await open(path, 'wx', FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Whether the blob is whole; false also when it cannot be read, so that it is written again. */
async function hasWholeBlob(directory: string, ref: Digest): Promise<boolean> {
  try {
    return isRight(await readBlob(directory, ref));
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return false;
  }
}

const readBlob = (directory: string, ref: Digest): Promise<Answer<Uint8Array>> =>
  reading(directory, ref, async (file) => {
    const bytes = await file.readFile();
    return isLarge(bytes) && (await hashLater(bytes)) === ref ? right(bytes) : verifyBlob(ref, bytes);
  });

async function readEnds(file: FileHandle, size: number, bytes: number): Promise<Answer<BlobEnds>> {
  const length = Math.min(size, bytes);
  const at = async (position: number): Promise<Uint8Array> => {
    const read = await file.read(new Uint8Array(length), 0, length, position);
    return read.buffer.subarray(0, read.bytesRead);
  };
  return right({ bytes: size, head: await at(0), tail: await at(size - length) });
}

/** Opens the file of a blob, checks that it can be one, and reads it. */
async function reading<T>(
  directory: string,
  ref: Digest,
  read: (file: FileHandle, size: number) => Promise<Answer<T>>,
): Promise<Answer<T>> {
  let file: FileHandle;
  try {
    // The engine creates no links or pipes here: it does not follow a link, and does not wait for a pipe.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    file = await open(placeOf(directory, ref).file, flags);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return left(unknownBlob(ref));
    if (codeOf(error) === 'ELOOP') return left(damagedBlob(ref, 'a symbolic link is in its place'));
    throw error;
  }
  try {
    const stats = await file.stat();
    if (!stats.isFile()) return left(damagedBlob(ref, 'its entry is not a regular file'));
    if (stats.size > BLOB_BYTES_MAX)
      return left(damagedBlob(ref, `its file has ${stats.size} bytes, more than any blob`));
    return await read(file, stats.size);
  } finally {
    await file.close();
  }
}

const damagedBlob = (ref: Digest, fault: string): Rejection =>
  reject('damaged', '', `blob ${ref} is corrupt: ${fault}; put the same bytes again, or restore a backup`);

async function deleteBlob(directory: string, ref: Digest, lastPutBeforeMs: number): Promise<Answer<void>> {
  const { pair, file } = placeOf(directory, ref);
  try {
    if (Math.floor((await stat(file)).mtimeMs) >= lastPutBeforeMs) return left(unknownBlob(ref));
    await unlink(file);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return left(unknownBlob(ref));
    throw error;
  }
  await syncDirectory(pair[1]);
  return right(undefined);
}

async function lastPutOf(directory: string, ref: Digest): Promise<Answer<number>> {
  try {
    return right(Math.floor((await stat(placeOf(directory, ref).file)).mtimeMs));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return left(unknownBlob(ref));
    throw error;
  }
}

async function* listBlobs(directory: string): AsyncGenerator<Digest> {
  const pair = /^[0-9a-f]{2}$/;
  for (const outer of await namesIn(directory, pair)) {
    for (const inner of await namesIn(join(directory, outer), pair)) {
      for (const hex of await namesIn(join(directory, outer, inner), /^[0-9a-f]{64}$/)) {
        const ref = `${DIGEST_PREFIX}${hex}`;
        if (hex.startsWith(outer + inner) && Digest.is(ref)) yield ref;
      }
    }
  }
}

async function namesIn(directory: string, pattern: RegExp): Promise<readonly string[]> {
  const names = await readdir(directory);
  return names.filter((name) => pattern.test(name)).sort();
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Runs `work`. An error of the file system becomes a rejection; any other error is an internal error, and is thrown. */
const rejecting =
  <T>(doing: string, work: () => Promise<Answer<T>>): TaskEither<Rejection, T> =>
  async () => {
    try {
      return await work();
    } catch (error) {
      return left(fileFailure(doing, error));
    }
  };
