// The host's own directory: outputs too long to return, and the journal of patches. It lies outside of the
// workspace, belongs to the host's user alone, and is found again by the next process (patches are finished there).
import { createHash, randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeDirectoryNow } from '../../src/files/directories.ts';
import { isAlive, tagOf } from '../../src/files/process-tag.ts';

export interface Scratch {
  /** Journal of the patches that are being written. Shared by all processes of this workspace and user. */
  readonly patches: string;
  /** A new path for one spilled output; the directory goes when the host closes. */
  newSpillPath(): string;
  close(): void;
}

export function openScratch(workspacePath: string, tempDir: string | undefined): Scratch {
  const base = tempDir ?? defaultBase(workspacePath);
  makeDirectoryNow(base);
  const real = realpathSync(base);
  if (`${real}/`.startsWith(`${workspacePath}/`)) throw new Error('tempDir must lie outside of the workspace');
  const patches = join(real, 'patches');
  makeDirectoryNow(patches);
  removeAbandoned(real);
  const spills = mkdtempSync(join(real, `spill-${tagOf(process.pid)}-`));
  return {
    patches,
    newSpillPath: () => join(spills, randomUUID()),
    close() {
      rmSync(spills, { recursive: true, force: true });
      // A directory the operator named stays; one of our own goes once nothing is left in it to finish.
      if (tempDir === undefined) for (const directory of [patches, real]) removeEmpty(directory);
    },
  };
}

/** Outputs of processes of this very place that were killed: nobody reads them any more, and they are as they were written. */
function removeAbandoned(base: string): void {
  const placeOf = (tag: string): string => tag.split('.').slice(2).join('.');
  const here = placeOf(tagOf(process.pid));
  for (const name of readdirSync(base)) {
    const [, tag] = /^spill-([0-9a-f.]+)-/.exec(name) ?? [];
    if (tag === undefined || placeOf(tag) !== here || isAlive(tag)) continue;
    try {
      rmSync(join(base, name), { recursive: true, force: true });
    } catch {
      // Another user's, in a directory that the operator named for both.
    }
  }
}

function removeEmpty(directory: string): void {
  try {
    rmdirSync(directory);
  } catch {
    // Another process of this workspace uses it, or an unfinished patch lies there.
  }
}

// The name must be the same in the next process, and so can be guessed: another user may have taken it. Then a
// fresh directory serves, and only the finishing of patches after a crash is lost.
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
