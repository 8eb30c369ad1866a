// The manifest of a patch that is being written: enough for the next process to finish the patch or roll it back.
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isPlainObject } from '../../../schemas/json.ts';
import { makeDirectoryNow } from '../../../src/files/directories.ts';

/** One file of a patch, with the digests of its bytes before and after; null means that there is no file. */
export interface ManifestEntry {
  readonly names: readonly string[];
  /** The name of the staged file, in the file's directory; null for a file that is deleted. */
  readonly temporary: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

export interface PatchManifest {
  readonly version: 1;
  readonly workspace: string;
  readonly owner: ProcessMark;
  /** After a crash, `staging` is rolled back and `publishing` is finished. */
  readonly phase: 'staging' | 'publishing';
  readonly entries: readonly ManifestEntry[];
  /** Directories that did not exist before, outermost first. */
  readonly directories: readonly (readonly string[])[];
}

/** A process and its start time: the pid alone may be reused. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string;
}

const SUFFIX = '.patch.json';

export const newManifestPath = (manifests: string): string => join(manifests, `${randomUUID()}${SUFFIX}`);

/** Replaces the manifest atomically: after a crash the file is the old one or the new one. */
export function writeManifest(path: string, manifest: PatchManifest): void {
  const temporary = `${path}.tmp`;
  // Another host that closed may have removed the empty directory.
  makeDirectoryNow(join(path, '..'));
  const fd = openSync(temporary, 'w', 0o600);
  try {
    writeFileSync(fd, JSON.stringify(manifest));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncDirectory(join(path, '..'));
}

export function removeManifest(path: string): void {
  rmSync(path, { force: true });
  syncDirectory(join(path, '..'));
}

export interface AbandonedManifests {
  readonly found: readonly { readonly path: string; readonly manifest: PatchManifest }[];
  /** Files that cannot be read now: each may be the manifest of a patch that is half written. They are left alone. */
  readonly unreadable: readonly string[];
}

/** Manifests of `workspace` whose process has ended, sorted by name. A file that is not a manifest is left alone. */
export function abandonedManifests(manifests: string, workspace: string): AbandonedManifests {
  const found: { path: string; manifest: PatchManifest }[] = [];
  const unreadable: string[] = [];
  for (const name of readdirSync(manifests).sort()) {
    if (!name.endsWith(SUFFIX)) continue;
    const path = join(manifests, name);
    const manifest = readManifest(path);
    if (manifest === 'unreadable') unreadable.push(path);
    else if (manifest !== null && manifest.workspace === workspace && hasEnded(manifest.owner))
      found.push({ path, manifest });
  }
  return { found, unreadable };
}

export const thisProcess = (): ProcessMark => ({ pid: process.pid, started: startOf(process.pid) });

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Null for a file that is no manifest; another process may have removed it meanwhile. */
function readManifest(path: string): PatchManifest | 'unreadable' | null {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? null : 'unreadable';
  }
  try {
    const value: unknown = JSON.parse(text);
    return isPlainObject(value) && value['version'] === 1 ? (value as unknown as PatchManifest) : null;
  } catch {
    return null;
  }
}

// A manifest of this process is abandoned too: writing a patch is synchronous, so any code of this process that reads the
// manifests runs after that patch failed.
function hasEnded(owner: ProcessMark): boolean {
  if (owner.pid === process.pid) return true;
  try {
    process.kill(owner.pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  return startOf(owner.pid) !== owner.started;
}

/** Start time in clock ticks since boot (proc(5), field 22); empty where there is no /proc. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}

function syncDirectory(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
