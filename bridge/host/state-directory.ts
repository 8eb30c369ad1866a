// Where a host notes what the next one must finish or undo if it is killed: patches that are half written, and what git would
// run from the workspace. It must survive what ends the host, such as a power cut, so it is not among temporary files.
import { createHash } from 'node:crypto';
import { lstatSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { makeDirectoryNow } from '../../src/files/directories.ts';
import { isWithin, pathsShowing, readMounts } from './workspace/mounts.ts';

/** What the operator named. */
export interface StateOptions {
  readonly tempDir: string | undefined;
  readonly stateDir: string | undefined;
}

/**
 * The directory of one workspace, created when it is missing; null when the temporary directory is to be used: the operator
 * named that one alone, or the state of this user cannot be kept outside the workspace. Throws when the directory in
 * `stateDir` is not this user's alone.
 */
export function openStateDirectory(workspace: string, { tempDir, stateDir }: StateOptions): string | null {
  const key = createHash('sha256').update(workspace).digest('hex').slice(0, 16);
  if (stateDir !== undefined) return made(join(stateDir, 'hosts', key));
  const home = tempDir === undefined ? stateHome() : null;
  if (home === null) return null;
  try {
    const directory = made(join(home, 'refold', 'hosts', key));
    // The tools could write it there.
    return pathsShowing(directory, readMounts()).some((path) => isWithin(path, workspace)) ? null : directory;
  } catch {
    return null;
  }
}

function made(directory: string): string {
  makeDirectoryNow(directory);
  if (isPrivate(directory)) return realpathSync(directory);
  throw new Error(
    `${directory} must be a directory of this user alone, because the bridge does what is noted there; run: ` +
      `chmod 700 ${directory}, or remove it if you did not make it`,
  );
}

/** Whether it is a directory, no link, of this user, that no other user may use. */
export function isPrivate(directory: string): boolean {
  const stats = lstatSync(directory, { throwIfNoEntry: false });
  return stats?.isDirectory() === true && stats.uid === (process.getuid?.() ?? 0) && (stats.mode & 0o077) === 0;
}

/** As the XDG Base Directory Specification says; null for a user without a home directory. */
function stateHome(): string | null {
  const named = process.env['XDG_STATE_HOME'] ?? '';
  if (isAbsolute(named)) return named;
  const home = homedir();
  return isAbsolute(home) ? join(home, '.local', 'state') : null;
}
