// Where snapshots are kept, beside the streams. They may vanish at any time, all or some, and whatever is read is
// garbage until it was checked: no stream is ever worse off for it than slower to load.
import { left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';

/** Every failure is a rejection: `storage_failed`, `storage_full`, `closing`. None of them touches the streams. */
export interface Snapshots {
  /**
   * Keeps a snapshot, whole or not at all, apart from the writes of the streams. Those of the session that are newer
   * or beyond SNAPSHOTS_KEPT are dropped: the stream ends here, so that a newer one cannot be right.
   */
  put(snapshot: Snapshot): TaskEither<Rejection, void>;
  /** The versions of a session that have a snapshot, newest first. */
  versions(session: SessionId): TaskEither<Rejection, readonly Version[]>;
  /** Null when there is none of this version, or none that can be read. */
  get(session: SessionId, version: Version): TaskEither<Rejection, Snapshot | null>;
  /** Again is no error. */
  drop(session: SessionId, version: Version): TaskEither<Rejection, void>;
}

/** Which of the versions a session has may stay once `put` has added one. */
export const keptVersions = (versions: readonly Version[], put: Version, keep: number): readonly Version[] =>
  versions
    .filter((version) => version <= put)
    .sort((a, b) => b - a)
    .slice(0, keep);

/** The snapshots of a journal, which are refused as `closing` once it is. */
export function guardSnapshots(snapshots: Snapshots, isClosed: () => boolean): Snapshots {
  const unlessClosed =
    <T>(task: TaskEither<Rejection, T>): TaskEither<Rejection, T> =>
    async () =>
      isClosed() ? left(reject('closing', '', 'the journal is closed')) : await task();
  return {
    put: (snapshot) => unlessClosed(snapshots.put(snapshot)),
    versions: (session) => unlessClosed(snapshots.versions(session)),
    get: (session, version) => unlessClosed(snapshots.get(session, version)),
    drop: (session, version) => unlessClosed(snapshots.drop(session, version)),
  };
}
