// The port for snapshots, which are stored beside the streams. Snapshots may be deleted at any time, and a snapshot that
// was read is not trusted until the engine has checked it. A missing or wrong one only makes loading slower.
import { left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import type { SessionId, Version } from '../../schemas/ids.ts';
import { type Rejection, reject } from '../../schemas/rejection.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';

/** Every failure is a rejection: `storage_failed`, `storage_full`, `closing`. None of them affects the streams. */
export interface Snapshots {
  /**
   * Stores a snapshot, completely or not at all, independently of the writes to streams. Drops the snapshots of the session
   * beyond SNAPSHOTS_KEPT and the newer ones: the stream ends at this version, so a newer one cannot be right.
   */
  put(snapshot: Snapshot): TaskEither<Rejection, void>;
  /** The versions at which a session has a snapshot, newest first. */
  versions(session: SessionId): TaskEither<Rejection, readonly Version[]>;
  /** Null when there is no readable snapshot of this version. */
  get(session: SessionId, version: Version): TaskEither<Rejection, Snapshot | null>;
  /** Dropping a snapshot that does not exist succeeds. */
  drop(session: SessionId, version: Version): TaskEither<Rejection, void>;
  /** Drops every snapshot of a session, durably. */
  dropAll(session: SessionId): TaskEither<Rejection, void>;
}

/** The versions that stay after a snapshot of version `put` was added. */
export const keptVersions = (versions: readonly Version[], put: Version, keep: number): readonly Version[] =>
  versions
    .filter((version) => version <= put)
    .sort((a, b) => b - a)
    .slice(0, keep);

/** The snapshots of a journal; refused as `closing` once the journal is closed. */
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
    dropAll: (session) => unlessClosed(snapshots.dropAll(session)),
  };
}
