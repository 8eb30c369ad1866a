// The directories that no command may see: where the engine keeps its tokens, and the bridge its ledger. Whoever reads a token
// can answer in another's name.
import { realpathSync, statSync } from 'node:fs';
import type { Owner } from '../workspace/workspace.ts';

/** The ones that exist, without links. */
export const realDirectories = (paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) => {
    try {
      return [realpathSync(path)];
    } catch {
      return [];
    }
  });

/**
 * Whether commands that nothing confines run as a user to whom a private directory belongs, or as the host's own. On a
 * system without user ids nothing is known, so they do.
 */
export function sharesUser(identity: Owner | null, directories: readonly string[]): boolean {
  if (identity === null) return true;
  return directories.some((path) => statSync(path).uid === identity.uid);
}

/**
 * The flags of bubblewrap that put an empty directory in the place of each private one that its mounts would show: those
 * of the system's programs (`before` the workspace is mounted), and the workspace itself (`after`).
 */
export function maskedMounts(
  directories: readonly string[],
  shown: { readonly mounts: readonly string[]; readonly workspace: string },
): { readonly before: readonly string[]; readonly after: readonly string[] } {
  const mask = (path: string): readonly string[] => ['--tmpfs', path];
  const inWorkspace = (path: string): boolean => isWithin(path, shown.workspace);
  const isShown = (path: string): boolean =>
    shown.mounts.some((mount) => mount.startsWith('/') && isWithin(path, mount));
  return {
    before: directories.filter((path) => !inWorkspace(path) && isShown(path)).flatMap(mask),
    after: directories.filter(inWorkspace).flatMap(mask),
  };
}

const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory === '/' ? '/' : `${directory}/`);
