// Finds what makes git treat a directory of the workspace as a repository: an entry named `.git` (a directory, a file that
// names one, or a link to one), and a directory with the content of a git directory, which git accepts without that name.
// Programs such as git itself, shells and editors run commands that its configuration names.
import { closeSync, type Dirent, readdirSync, readlinkSync, type Stats } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GIT_SCAN_ENTRIES_MAX, PATH_DEPTH_MAX, TREE_YIELD_EVERY } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { type Directory, entryPath, lookUp, openChild } from '../workspace/directory.ts';

export interface GitEntry {
  /** The names that lead to it from the workspace. */
  readonly names: readonly string[];
  /** `entry`: it is named `.git`. `directory`: it has the content of a git directory. */
  readonly kind: 'entry' | 'directory';
  /** Changes when another entry takes its place. */
  readonly id: string;
}

export interface GitEntries {
  /** By path. */
  readonly found: ReadonlyMap<string, GitEntry>;
  /** The workspace has more entries than one scan visits, or is deeper. */
  readonly isPartial: boolean;
}

interface Scan {
  readonly found: Map<string, GitEntry>;
  entries: number;
  directories: number;
  isPartial: boolean;
}

/** Compared without case, because some file systems ignore it. */
const isGitName = (name: string): boolean => name.toLowerCase() === '.git';

/** git accepts a directory with these names; `commondir` names another directory for the last two. */
export const hasGitContent = (has: (name: string) => boolean): boolean =>
  has('HEAD') && (has('commondir') || (has('objects') && has('refs')));

export async function findGitEntries(root: Directory): Promise<GitEntries> {
  const scan: Scan = { found: new Map(), entries: 0, directories: 0, isPartial: false };
  await visit(root, scan);
  const { found, isPartial } = scan;
  return { found, isPartial };
}

async function visit(directory: Directory, scan: Scan): Promise<void> {
  const entries = readEntries(directory);
  scan.entries += entries.length;
  scan.directories += 1;
  if (scan.directories % TREE_YIELD_EVERY === 0) await nextTurn();
  const names = new Set(entries.map(({ name }) => name));
  if (hasGitContent((name) => names.has(name))) addEntry(scan, directory, '.', 'directory');
  for (const { name } of entries.filter((entry) => isGitName(entry.name))) addEntry(scan, directory, name, 'entry');
  if (scan.entries > GIT_SCAN_ENTRIES_MAX || directory.names.length >= PATH_DEPTH_MAX) {
    scan.isPartial ||= entries.some((entry) => entry.isDirectory());
    return;
  }
  for (const entry of entries)
    if (entry.isDirectory() && !isGitName(entry.name)) await visitChild(directory, entry, scan);
}

async function visitChild(parent: Directory, { name }: Pick<Dirent, 'name'>, scan: Scan): Promise<void> {
  const child = openIfAllowed(parent, name);
  if (child === null) return;
  try {
    await visit(child, scan);
  } finally {
    closeSync(child.fd);
  }
}

/** Null for a directory that vanished, changed, denies access, or is protected. */
function openIfAllowed(parent: Directory, name: string): Directory | null {
  try {
    return openChild(parent, name);
  } catch (error) {
    if (error instanceof ToolFault || (error as NodeJS.ErrnoException).code !== undefined) return null;
    throw error;
  }
}

/** Of a directory that may be entered but not listed, an entry that git would open. */
function readEntries(directory: Directory): readonly Pick<Dirent, 'name' | 'isDirectory'>[] {
  try {
    return readdirSync(directory.location, { withFileTypes: true });
  } catch {
    const stats = lookUpIfAllowed(directory, '.git');
    return stats === null ? [] : [{ name: '.git', isDirectory: () => stats.isDirectory() }];
  }
}

function addEntry(scan: Scan, directory: Directory, name: string, kind: GitEntry['kind']): void {
  const stats = lookUpIfAllowed(directory, name);
  if (stats === null) return;
  const names = name === '.' ? directory.names : [...directory.names, name];
  const target = stats.isSymbolicLink() ? readlinkSync(entryPath(directory, name)) : '';
  scan.found.set(names.join('/'), { names, kind, id: `${stats.dev}:${stats.ino} ${target}` });
}

function lookUpIfAllowed(directory: Directory, name: string): Stats | null {
  try {
    return lookUp(directory, name);
  } catch {
    return null;
  }
}
