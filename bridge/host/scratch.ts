// The host's own directory: outputs that are too long to return, and the manifests of patches. It lies outside the
// workspace, belongs to the host's user alone, and the next process finds it again, to finish patches after a crash.
import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDirectoryNow } from '../../src/files/directories.ts';
import { isAlive, processTagOf } from '../../src/files/process-tag.ts';
import { isWithin, pathsShowing, readMounts } from './workspace/mounts.ts';

export interface Scratch {
  /** Holds the manifests of the patches that are being written. All processes of this workspace and user share it. */
  readonly patches: string;
  /** Holds what this process notes for the next one. All processes of this workspace and user share it. */
  readonly records: string;
  /** A new path for one spilled output. `close` removes the directory of these. */
  newSpillPath(): string;
  close(): void;
}

export function openScratch(workspacePath: string, tempDir: string | undefined): Scratch {
  const base = tempDir ?? defaultBase(workspacePath);
  makeDirectoryNow(base);
  const real = realpathSync(base);
  if (pathsShowing(real, readMounts()).some((path) => isWithin(path, workspacePath)))
    throw new Error(`tempDir ${real} lies in the workspace; choose a directory outside it`);
  const patches = join(real, 'patches');
  makeDirectoryNow(patches);
  removeAbandoned(real);
  const spills = mkdtempSync(join(real, `spill-${processTagOf(process.pid)}-`));
  return {
    patches,
    records: real,
    newSpillPath: () => join(spills, randomUUID()),
    close() {
      rmSync(spills, { recursive: true, force: true });
      // A directory that the operator named stays. The default one is removed unless a patch is left to finish.
      if (tempDir === undefined) for (const directory of [patches, real]) removeEmpty(directory);
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

// The name must be the same in the next process, so another user can guess it and create it first. In that case a fresh
// directory is used; the only loss is that patches are not finished after a crash.
function defaultBase(workspacePath: string): string {
  const uid = process.getuid?.() ?? 0;
  const key = createHash('sha256').update(workspacePath).digest('hex').slice(0, 16);
  const base = join(tmpdir(), `refold-host-${uid}-${key}`);
  try {
    mkdirSync(base, { mode: 0o700 });
    return base;
  } catch {
    const stats = lstatSync(base, { throwIfNoEntry: false });
    const ours = stats?.isDirectory() === true && stats.uid === uid && (stats.mode & 0o077) === 0;
    return ours ? base : mkdtempSync(join(tmpdir(), 'refold-host-'));
  }
}
