// Finds what makes git treat a directory of the workspace as a repository: an entry named `.git` (a directory, a file that
// names one, or a link to one), and a directory with the content of a git directory, which git accepts without that name.
// Programs such as git itself, shells and editors run commands that its configuration names. The entries of other version
// control programs, which do the same, are found like `.git` (`REPOSITORY_NAMES`), and so is what package managers read
// before they run a program (`bridge/host/workspace/runner-files.ts`).
import { closeSync, readdirSync, readlinkSync } from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { GIT_NOTES_MAX, GIT_SCAN_ENTRIES_MAX, PATH_DEPTH_MAX, TREE_YIELD_EVERY } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { filePath, nameOfBytes } from '../workspace/byte-name.ts';
import { type Directory, entryPath, grantOwner, lookUp, openChild, withDirectory } from '../workspace/directory.ts';
import { REPOSITORY_NAMES, isRepositoryName, pathOf } from '../workspace/path-name.ts';
import { RUNNER_NAMES, manifestOffers, runnerEntry } from '../workspace/runner-files.ts';

export interface GitEntry {
  /** The names that lead to it from the workspace. */
  readonly names: readonly string[];
  /** `entry`: it has one of `REPOSITORY_NAMES`, is one that runs before refold, or is watched. `directory`: it has the content of a git directory. */
  readonly kind: 'entry' | 'directory';
  /** Changes when another entry takes its place. */
  readonly id: string;
}

export interface GitEntries {
  /** By path. */
  readonly found: ReadonlyMap<string, GitEntry>;
  /** The workspace has more entries than one scan visits, is deeper, or has directories that cannot be searched. */
  readonly isPartial: boolean;
  /** The paths of the first directories that could not be searched, for the model. */
  readonly unsearched: ReadonlySet<string>;
}

/** True for what the user has: a search does not look into it, for it is shown read-only as a whole. */
type IsOwn = (entry: GitEntry) => boolean;

interface Scan {
  readonly isOwn: IsOwn;
  readonly found: Map<string, GitEntry>;
  entries: number;
  directories: number;
  isPartial: boolean;
  readonly unsearched: Set<string>;
}

interface Entry {
  readonly name: string;
  readonly isDirectory: boolean;
  readonly isLink: boolean;
}

/** Further entries that a search finds, by the names that lead there from the workspace. */
export interface WatchedNames {
  /** Whatever is there, and a link on the way there. */
  readonly entries: readonly (readonly string[])[];
  /** Only a link: what is there, or on the way there. */
  readonly links: readonly (readonly string[])[];
}

const NOTHING_WATCHED: WatchedNames = { entries: [], links: [] };

/** git accepts a directory with these names; `commondir` names another directory for the last two. */
export const hasGitContent = (has: (name: string) => boolean): boolean =>
  has('HEAD') && (has('commondir') || (has('objects') && has('refs')));

/**
 * In the order of a walk: what holds others comes before them. An entry that is not `isOwn` is searched too, because another
 * repository may be in it, which would come into git's sight when that entry gets another name. By default, all are.
 */
export async function findGitEntries(
  root: Directory,
  isOwn: IsOwn = () => true,
  watched: WatchedNames = NOTHING_WATCHED,
): Promise<GitEntries> {
  const scan: Scan = { isOwn, found: new Map(), entries: 0, directories: 0, isPartial: false, unsearched: new Set() };
  await visit(root, scan);
  for (const names of watched.entries) addWatched(root, names, { scan, onlyLinks: false });
  for (const names of watched.links) addWatched(root, names, { scan, onlyLinks: true });
  const { found, isPartial, unsearched } = scan;
  return { found, isPartial, unsearched };
}

async function visit(directory: Directory, scan: Scan): Promise<void> {
  const entries = readEntries(directory, scan);
  scan.entries += entries.length;
  scan.directories += 1;
  if (scan.directories % TREE_YIELD_EVERY === 0) await nextTurn();
  const names = new Set(entries.map(({ name }) => name));
  if (hasGitContent((name) => names.has(name))) addEntry(scan, directory, '.', 'directory');
  for (const entry of entries) if (runsCode(directory, entry)) addEntry(scan, directory, entry.name, 'entry');
  if (scan.entries > GIT_SCAN_ENTRIES_MAX || directory.names.length >= PATH_DEPTH_MAX) {
    scan.isPartial ||= entries.some((entry) => entry.isDirectory);
    return;
  }
  for (const { name, isDirectory } of entries)
    if (isDirectory && !isOwnRepository(directory, name, scan)) await visitChild(directory, name, scan);
}

function runsCode(directory: Directory, { name, isLink }: Entry): boolean {
  if (isRepositoryName(name)) return true;
  const as = runnerEntry([...directory.names, name]);
  if (as === 'manifest') return manifestOffers(directory, name);
  return as === 'yes' || (as === 'if link' && isLink);
}

function isOwnRepository({ names }: Directory, name: string, { found, isOwn }: Scan): boolean {
  const entry = isRepositoryName(name) ? found.get([...names, name].join('/')) : undefined;
  return entry !== undefined && isOwn(entry);
}

async function visitChild(parent: Directory, name: string, scan: Scan): Promise<void> {
  const child = openIfAllowed(parent, name, scan);
  if (child === null) return;
  try {
    await visit(child, scan);
  } finally {
    closeSync(child.fd);
  }
}

/** Null for a directory that vanished, became a link, is protected, or cannot be opened. */
function openIfAllowed(parent: Directory, name: string, scan: Scan): Directory | null {
  try {
    return openChild(parent, name);
  } catch (error) {
    if (!(error instanceof ToolFault)) leaveOut(scan, [...parent.names, name], error);
    return null;
  }
}

/** A command can take its own user's rights to a directory away; they are given back, because git below would still run. */
function readEntries(directory: Directory, scan: Scan): readonly Entry[] {
  try {
    grantOwner(directory, 0o500);
  } catch {
    // It belongs to another user, or cannot be changed: then reading shows whether that matters.
  }
  try {
    const entries = readdirSync(filePath(directory.location), { withFileTypes: true, encoding: 'buffer' });
    return entries.map((entry) => ({
      name: nameOfBytes(entry.name),
      isDirectory: entry.isDirectory(),
      isLink: entry.isSymbolicLink(),
    }));
  } catch (error) {
    leaveOut(scan, directory.names, error);
    // git would open these in a directory that may be entered but not listed.
    return [...REPOSITORY_NAMES, ...RUNNER_NAMES].map((name) => ({ name, isDirectory: true, isLink: false }));
  }
}

/** The first link on the way there is what a program would follow, so it is the entry. */
function addWatched(
  root: Directory,
  names: readonly string[],
  { scan, onlyLinks }: { readonly scan: Scan; readonly onlyLinks: boolean },
): void {
  try {
    for (let depth = 0; depth < names.length; depth += 1) {
      const more = withDirectory(root, names.slice(0, depth), (directory) => {
        const name = names[depth] as string;
        const stats = lookUp(directory, name);
        const isLink = stats?.isSymbolicLink() === true;
        const isLast = depth === names.length - 1;
        if (isLink || (isLast && !onlyLinks)) addEntry(scan, directory, name, 'entry');
        return stats?.isDirectory() === true && !isLast;
      });
      if (!more) return;
    }
  } catch (error) {
    if (!(error instanceof ToolFault)) leaveOut(scan, names, error);
  }
}

function addEntry(scan: Scan, directory: Directory, name: string, kind: GitEntry['kind']): void {
  try {
    const stats = lookUp(directory, name);
    if (stats === null) return;
    const names = name === '.' ? directory.names : [...directory.names, name];
    // An entry that is searched has the content of one, too; it is moved by its name.
    if (scan.found.has(names.join('/'))) return;
    const target = stats.isSymbolicLink() ? readlinkSync(entryPath(directory, name), 'latin1') : '';
    scan.found.set(names.join('/'), { names, kind, id: `${stats.dev}:${stats.ino} ${target}` });
  } catch (error) {
    leaveOut(scan, directory.names, error);
  }
}

/** Only for errors of the operating system. */
function leaveOut(scan: Scan, names: readonly string[], error: unknown): void {
  if ((error as NodeJS.ErrnoException).code === undefined) throw error;
  scan.isPartial = true;
  if (scan.unsearched.size < GIT_NOTES_MAX) scan.unsearched.add(pathOf(names).shown);
}
