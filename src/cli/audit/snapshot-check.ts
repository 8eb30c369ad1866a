// Checks the snapshots of one session against the fold of its whole stream. They are read from their files: an engine
// ignores a wrong snapshot without reporting it.
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import type { SessionId, Version } from '../../../schemas/ids.ts';
import type { Snapshot } from '../../../schemas/snapshot.ts';
import type { Replay } from '../../core/replay.ts';
import { readSnapshot } from '../../core/snapshot.ts';
import { openFileSnapshots } from '../../journal/file-snapshots.ts';
import { SNAPSHOTS } from '../../journal/level-journal.ts';
import type { Snapshots } from '../../journal/snapshots.ts';
import { journalOf } from '../data-dir.ts';

export interface BadSnapshot {
  /** The number of events that it claims to cover. */
  readonly version: number;
  readonly message: string;
}

export interface SnapshotsChecked {
  readonly checked: number;
  /** By version. */
  readonly bad: readonly BadSnapshot[];
}

export interface SnapshotCheck {
  /** Whether a snapshot after this many events exists. */
  wants(events: number): boolean;
  /** Compares the snapshot at this number of events with the fold of these events. */
  add(replayed: Replay): void;
  /** `whole`: the stream was folded to its end. */
  finish(whole: boolean): SnapshotsChecked;
}

export async function newSnapshotCheck(dataDir: string, id: SessionId): Promise<SnapshotCheck> {
  const found = await readAll(openFileSnapshots(join(journalOf(dataDir), SNAPSHOTS)), id);
  const bad: BadSnapshot[] = [];
  let checked = 0;

  function check(version: number, fault: string | null): void {
    checked += 1;
    found.delete(version);
    if (fault !== null) bad.push({ version, message: `${fault}. Delete it: no event depends on it` });
  }

  return {
    wants: (events) => found.has(events),
    add(replayed) {
      check(replayed.events, faultOf(found.get(replayed.events) ?? null, replayed));
    },
    finish(whole) {
      // Where the stream breaks off, later snapshots cannot be checked.
      for (const version of whole ? [...found.keys()] : [])
        check(version, `the stream has fewer than ${version} events`);
      return { checked, bad: bad.sort((a, b) => a.version - b.version) };
    },
  };
}

/** The snapshots by version; null for one that cannot be read. */
async function readAll(snapshots: Snapshots, id: SessionId): Promise<Map<number, Snapshot | null>> {
  const versions = await snapshots.versions(id)();
  const found = new Map<number, Snapshot | null>();
  for (const version of isLeft(versions) ? [] : versions.right) {
    const snapshot = await snapshots.get(id, version)();
    if (!isLeft(snapshot) && snapshot.right !== null) found.set(version, snapshot.right);
    else if (await exists(snapshots, id, version)) found.set(version, null);
  }
  return found;
}

// A running engine deletes old snapshots during the check.
async function exists(snapshots: Snapshots, id: SessionId, version: Version): Promise<boolean> {
  const now = await snapshots.versions(id)();
  return isLeft(now) || now.right.includes(version);
}

function faultOf(snapshot: Snapshot | null, { stateDigest, chain }: Replay): string | null {
  if (snapshot === null) return 'it cannot be read';
  if (readSnapshot(snapshot) === null) return 'its state does not match its digest';
  if (snapshot.state_digest !== stateDigest) return `its state digest differs from the stream’s, ${stateDigest}`;
  return snapshot.chain === chain ? null : `its chain value differs from the stream’s, ${chain}`;
}
