// Keeps file tools out of what programs of the user run: they write nothing in a git directory, no file that would
// complete one, nothing among the programs that refold itself runs or that run before it, and nothing where its own data
// will be.
import { ToolFault } from '../outcome.ts';
import { lookUp, withDirectory } from '../workspace/directory.ts';
import { isWithin } from '../workspace/mounts.ts';
import { type WorkspacePath, pathOf, refuseProtected } from '../workspace/path-name.ts';
import { protectedFault } from '../workspace/protected-places.ts';
import { refuseRunnerFiles } from '../workspace/runner-files.ts';
import { userFilesIn } from '../workspace/user-files.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { hasGitContent } from './git-entries.ts';

/** Throws `forbidden` when a file of `paths` must not be written, or when all of them together would make a git directory. */
export function refuseWrites(workspace: Workspace, paths: readonly WorkspacePath[]): void {
  for (const path of paths) refuseProtected(path);
  // What does not exist yet has no identity to be refused by.
  for (const { names, shown } of paths)
    if (workspace.places.covers([workspace.path, ...names].join('/'))) throw protectedFault(shown);
  refuseCode(workspace, paths);
  refuseUserFiles(workspace, paths);
  for (const path of paths) refuseRunnerFiles(path);
  const written = new Set(paths.flatMap(({ names }) => names.map((_, index) => names.slice(0, index + 1).join('/'))));
  const checked = new Set<string>();
  for (const path of paths) {
    for (let depth = 0; depth < path.names.length; depth += 1) {
      const above = path.names.slice(0, depth);
      const key = above.join('/');
      if (checked.has(key)) continue;
      checked.add(key);
      const has = (name: string): boolean => written.has([...above, name].join('/')) || exists(workspace, above, name);
      if (hasGitContent(has)) throw gitFault(path, pathOf(above));
    }
  }
}

function refuseCode({ path: root, code: own }: Workspace, paths: readonly WorkspacePath[]): void {
  const watched = own.watched().map((names) => [root, ...names].join('/'));
  // Compared without case, because some file systems ignore it.
  const code = [...own.shown(), ...watched].map((place) => place.toLowerCase());
  for (const { names, shown } of paths) {
    const path = [root, ...names].join('/').toLowerCase();
    if (code.some((place) => isWithin(path, place))) throw codeFault(shown);
  }
}

function refuseUserFiles({ path: root }: Workspace, paths: readonly WorkspacePath[]): void {
  const files = userFilesIn(root).map((names) => names.join('/').toLowerCase());
  for (const { names, shown } of paths)
    if (files.some((file) => isWithin(names.join('/').toLowerCase(), file))) throw userFileFault(shown);
}

const userFileFault = (shown: string): ToolFault =>
  new ToolFault(
    'forbidden',
    `${shown} configures programs of the user, which run commands that it names: tools may read it but must not write it; ` +
      'choose another path',
  );

const codeFault = (shown: string): ToolFault =>
  new ToolFault(
    'forbidden',
    `${shown} is or would be among the programs that refold itself runs, which tools may read but must not write; choose ` +
      'another path',
  );

function exists({ root }: Workspace, above: readonly string[], name: string): boolean {
  try {
    return withDirectory(root, above, (directory) => lookUp(directory, name)) !== null;
  } catch (error) {
    if (error instanceof ToolFault) return false;
    throw error;
  }
}

const gitFault = (path: WorkspacePath, above: WorkspacePath): ToolFault =>
  new ToolFault(
    'forbidden',
    `${path.shown} would be in a git directory (${above.shown} has HEAD, objects and refs), which tools may read but must ` +
      'not write; choose another path',
  );
