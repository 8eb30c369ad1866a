// The journal entry of one patch that is being written: enough for the next process to finish it or undo it.
import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isPlainObject } from '../../../schemas/json.ts';
import { makeDirectoryNow } from '../../../src/files/directories.ts';

/** One file of a patch. Digests say what stood there before and what shall stand there; null is "no file". */
export interface ManifestEntry {
  readonly names: readonly string[];
  /** The staged bytes, in the file's directory; null for a file that goes. */
  readonly temporary: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

export interface Manifest {
  readonly version: 1;
  readonly workspace: string;
  readonly owner: ProcessMark;
  /** `staging` is undone after a crash, `publishing` is finished. */
  readonly phase: 'staging' | 'publishing';
  readonly entries: readonly ManifestEntry[];
  /** Directories that did not exist before, outermost first. */
  readonly directories: readonly (readonly string[])[];
}

/** A process, and when it started: the number alone is used again. */
export interface ProcessMark {
  readonly pid: number;
  readonly started: string;
}

const SUFFIX = '.patch.json';

export const newManifestPath = (journal: string): string => join(journal, `${randomUUID()}${SUFFIX}`);

/** Puts the manifest on disk as a whole, or leaves the one before. */
export function writeManifest(path: string, manifest: Manifest): void {
  const temporary = `${path}.tmp`;
  // Another host that closed may have removed the empty journal.
  makeDirectoryNow(join(path, '..'));
  const fd = openSync(temporary, 'w', 0o600);
  try {
    writeFileSync(fd, JSON.stringify(manifest));
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
  syncFolder(join(path, '..'));
}

export function removeManifest(path: string): void {
  rmSync(path, { force: true });
  syncFolder(join(path, '..'));
}

/** Manifests of `workspace` whose process is gone, oldest name first. A file that is none is left alone. */
export function abandonedManifests(
  journal: string,
  workspace: string,
): readonly { readonly path: string; readonly manifest: Manifest }[] {
  const found: { path: string; manifest: Manifest }[] = [];
  for (const name of readdirSync(journal).sort()) {
    if (!name.endsWith(SUFFIX)) continue;
    const path = join(journal, name);
    const manifest = readManifest(path);
    if (manifest !== null && manifest.workspace === workspace && isGone(manifest.owner)) found.push({ path, manifest });
  }
  return found;
}

export const thisProcess = (): ProcessMark => ({ pid: process.pid, started: startOf(process.pid) });

export const digestOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

function readManifest(path: string): Manifest | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return isPlainObject(value) && value['version'] === 1 ? (value as unknown as Manifest) : null;
  } catch {
    return null;
  }
}

// A manifest of this very process is abandoned too: writing a patch is one synchronous piece of work, so whoever
// reads the journal in the same process does so after it failed.
function isGone(owner: ProcessMark): boolean {
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

function syncFolder(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
