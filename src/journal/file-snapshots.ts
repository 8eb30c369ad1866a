// Snapshots as files, `<directory>/<session>/<version>.snapshot`, outside the journal's store: a full or failing disk then
// costs only a snapshot and no stream, opening a journal reads no snapshots, and the operator may delete the directory. A
// file appears completely or not at all; damage by a power cut is found by the digest.
import { randomUUID } from 'node:crypto';
import { type FileHandle, constants, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Either, left, right } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { type SessionId, Version } from '../../schemas/ids.ts';
import { SNAPSHOTS_KEPT, SNAPSHOT_CHARS_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { makeDirectory, syncDirectory } from '../files/directories.ts';
import { codeOf, fileFailure } from '../files/file-failure.ts';
import { type Snapshots, keptVersions } from './snapshots.ts';
import { decodeSnapshot, encodeSnapshot } from './stored-values.ts';

const FILE_MODE = 0o600;
/** A character takes three bytes at most, and the rest of a snapshot is small. */
const FILE_BYTES_MAX = 3 * SNAPSHOT_CHARS_MAX + 4_096;

/** The snapshots below a directory, which is created with the first snapshot. */
export function openFileSnapshots(directory: string): Snapshots {
  // An engine may load thousands of sessions when it starts, and most have no snapshot: the directory is listed once. A
  // snapshot that is copied into it by hand is found at the next opening.
  let listed: Promise<Set<string>> | null = null;
  const list = (): Promise<Set<string>> =>
    (listed ??= namesIn(directory)
      .then((names) => new Set(names))
      .catch((error: unknown) => {
        listed = null;
        throw error;
      }));
  return {
    put: (snapshot) =>
      fileTask('writing a snapshot', async () => {
        (await list()).add(snapshot.session_id);
        await writeSnapshot(join(directory, snapshot.session_id), snapshot);
      }),
    versions: (session) =>
      fileTask('listing the snapshots', async () =>
        (await list()).has(session) ? await versionsIn(join(directory, session)) : [],
      ),
    get: (session, version) => fileTask('reading a snapshot', () => readSnapshotFile(directory, session, version)),
    drop: (session, version) =>
      fileTask('deleting a snapshot', () => rm(join(directory, session, nameOf(version)), { force: true })),
    dropAll: (session) =>
      fileTask('deleting the snapshots of a session', async () => {
        if (!(await list()).has(session)) return;
        await rm(join(directory, session), { recursive: true, force: true });
        await syncDirectory(directory);
        (await list()).delete(session);
      }),
  };
}

const nameOf = (version: Version): string => `${version}.snapshot`;

async function writeSnapshot(directory: string, snapshot: Snapshot): Promise<void> {
  await makeDirectory(directory);
  const temporary = join(directory, `${randomUUID()}.tmp`);
  try {
    const file = await open(temporary, 'wx', FILE_MODE);
    try {
      await file.writeFile(encodeSnapshot(snapshot));
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, join(directory, nameOf(snapshot.version)));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  const kept = new Set(keptVersions(await versionsIn(directory), snapshot.version, SNAPSHOTS_KEPT).map(nameOf));
  for (const name of await namesIn(directory)) {
    // This also deletes the temporary file of an interrupted write.
    if (!kept.has(name)) await rm(join(directory, name), { force: true });
  }
}

async function versionsIn(directory: string): Promise<readonly Version[]> {
  const versions = (await namesIn(directory)).flatMap((name) => {
    const version = Number(/^([1-9]\d{0,15})\.snapshot$/.exec(name)?.[1]);
    return Version.is(version) ? [version] : [];
  });
  return versions.sort((a, b) => b - a);
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

async function readSnapshotFile(directory: string, session: SessionId, version: Version): Promise<Snapshot | null> {
  const path = join(directory, session, nameOf(version));
  const file = await openOrNull(path);
  if (file === null) return null;
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > FILE_BYTES_MAX) return null;
    const snapshot = decodeSnapshot(await file.readFile());
    return snapshot?.session_id === session && snapshot.version === version ? snapshot : null;
  } finally {
    await file.close();
  }
}

async function openOrNull(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ELOOP') return null;
    throw error;
  }
}

/** A task that runs `work`; an error of the file system becomes a rejection. */
const fileTask =
  <T>(doing: string, work: () => Promise<T>): TaskEither<Rejection, T> =>
  async (): Promise<Either<Rejection, T>> => {
    try {
      return right(await work());
    } catch (error) {
      return left(fileFailure(doing, error));
    }
  };
