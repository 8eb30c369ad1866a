// The host's own directories. A temporary one has outputs that are too long to return. Another one has what the next process
// must finish or undo if this one is killed (`state-directory.ts`). Both belong to the host's user alone.
import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { makeDirectoryNow, syncDirectory } from '../../src/files/directories.ts';
import { isAlive, processTagOf } from '../../src/files/process-tag.ts';
import type { RecordPlaces } from './git/git-records.ts';
import { type StateOptions, isPrivate, openStateDirectory } from './state-directory.ts';
import { isWithin, pathsShowing, readMounts } from './workspace/mounts.ts';

export interface Scratch {
  /** Holds the manifests of the patches that are being written. All processes of this workspace and user share it. */
  readonly patches: string;
  /** Holds what this process notes for the next one. All processes of this workspace and user share it. */
  readonly records: string;
  /**
   * The directories with what is known of git directories: `records`, and one that all hosts of this workspace and user share,
   * whatever directories the operator named for each. A missing one is made again.
   */
  readonly gitRecords: RecordPlaces;
  /** Makes the names of these directories survive a power cut. */
  sync(): Promise<void>;
  /** A new path for one spilled output. `close` removes the directory of these. */
  newSpillPath(): string;
  /** Where the files of one command are put that the command's own user must reach: outside the workspace. */
  readonly commandFiles: string;
  close(): void;
}

/** Throws when `tempDir` lies in the workspace, and when `stateDir` is not the user's own. */
export function openScratch(workspacePath: string, { tempDir, stateDir }: StateOptions): Scratch {
  const base = tempDir ?? defaultBase(workspacePath);
  makeDirectoryNow(base);
  const real = realpathSync(base);
  if (isShownIn(workspacePath, real))
    throw new Error(`tempDir ${real} lies in the workspace; choose a directory outside it`);
  const records = openStateDirectory(workspacePath, { tempDir, stateDir }) ?? real;
  const patches = join(records, 'patches');
  makeDirectoryNow(patches);
  removeAbandoned(real);
  const spills = mkdtempSync(join(real, `spill-${processTagOf(process.pid)}-`));
  const shared = sharedDirectoryOf(workspacePath);
  const gitRecords = (): readonly string[] => (shared !== null && isUsable(shared) ? [records, shared] : [records]);
  return {
    patches,
    records,
    gitRecords,
    // The user of commands cannot reach the host's own directories.
    commandFiles: isShownIn(workspacePath, realpathSync(tmpdir())) ? real : realpathSync(tmpdir()),
    async sync() {
      for (const directory of [records, dirname(records), dirname(dirname(records))]) await syncDirectory(directory);
    },
    newSpillPath: () => join(spills, randomUUID()),
    close() {
      rmSync(spills, { recursive: true, force: true });
      if (shared !== null) removeEmpty(shared);
      // A directory that the operator named stays. Those within it are removed unless something is left to finish.
      const own = [patches, records, real].filter((directory) => directory !== tempDir && directory !== stateDir);
      if (tempDir === undefined || stateDir !== undefined) for (const directory of own) removeEmpty(directory);
    },
  };
}

/** Removes the spilled outputs of killed processes of the same boot and PID namespace: no process reads them any more. */
function removeAbandoned(base: string): void {
  const placeOf = (tag: string): string => tag.split('.').slice(2).join('.');
  const here = placeOf(processTagOf(process.pid));
  for (const name of readdirSync(base)) {
    const [, tag] = /^spill-([0-9a-f.]+)-/.exec(name) ?? [];
    if (tag === undefined || placeOf(tag) !== here || isAlive(tag)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user, in a directory that the operator named for both.
    }
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Another process of this workspace uses it, or it holds an unfinished patch.
  }
}

/** Whether a directory lies in the workspace, or is mounted there. */
const isShownIn = (workspacePath: string, directory: string): boolean =>
  pathsShowing(directory, readMounts()).some((path) => isWithin(path, workspacePath));

/** Null where it would lie in the workspace. */
function sharedDirectoryOf(workspacePath: string): string | null {
  const directory = join(realpathSync(tmpdir()), `refold-git-${keyOf(workspacePath)}`);
  return isShownIn(workspacePath, directory) ? null : directory;
}

/** Whether a directory is this user's alone, made now where there is none. */
function isUsable(directory: string): boolean {
  if (isPrivate(directory)) return true;
  try {
    makeDirectoryNow(directory);
    return isPrivate(directory);
  } catch {
    return false;
  }
}

/** Of this user and workspace. */
const keyOf = (workspacePath: string): string =>
  `${process.getuid?.() ?? 0}-${createHash('sha256').update(workspacePath).digest('hex').slice(0, 16)}`;

// The name is the same in the next process, which removes what is left here, so another user can guess it and create it first.
// In that case a fresh directory is used.
function defaultBase(workspacePath: string): string {
  const base = join(tmpdir(), `refold-host-${keyOf(workspacePath)}`);
  try {
    mkdirSync(base, { mode: 0o700 });
    return base;
  } catch {
    return isPrivate(base) ? base : mkdtempSync(join(tmpdir(), 'refold-host-'));
  }
}
