// Puts the files of one command into a directory of its own. What the command then runs is exactly what was given here, whatever
// happens to the files' first place meanwhile. The copy belongs to the host's user; the command's user may read it.
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, processTagOf } from '../../../src/files/process-tag.ts';
import type { TreeFile } from '../../../src/files/read-tree.ts';
import type { Owner } from '../workspace/workspace.ts';

export interface FolderCopy {
  readonly path: string;
  remove(): void;
}

const PREFIX = 'refold-skill-';

/** `reader`: the user that the command runs as, when it is another. */
export function copyFolder(parent: string, files: readonly TreeFile[], reader: Owner | null): FolderCopy {
  removeAbandoned(parent);
  const path = mkdtempSync(join(parent, `${PREFIX}${processTagOf(process.pid)}-`));
  const remove = (): void => rmSync(path, { recursive: true, force: true });
  const allow = (target: string, own: number): void => {
    if (reader !== null) chownSync(target, process.getuid?.() ?? 0, reader.gid);
    chmodSync(target, reader === null ? own : own | ((own & 0o500) >> 3));
  };
  try {
    const directories = new Set([path]);
    for (const file of files) {
      const target = join(path, file.path);
      mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
      for (let at = dirname(target); at !== path; at = dirname(at)) directories.add(at);
      writeFileSync(target, file.bytes, { flag: 'wx' });
      allow(target, file.executable ? 0o500 : 0o400);
    }
    for (const directory of directories) allow(directory, 0o700);
    return { path, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

/** Removes the copies of killed processes. */
function removeAbandoned(parent: string): void {
  for (const name of readdirSync(parent)) {
    const tag = name.startsWith(PREFIX) ? /^([0-9a-f.]+)-/.exec(name.slice(PREFIX.length))?.[1] : undefined;
    if (tag === undefined || !isOurPlace(tag) || isAlive(tag)) continue;
    try {
      rmSync(join(parent, name), { recursive: true, force: true });
    } catch {
      // It belongs to another user.
    }
  }
}

/** Whether a process of this boot and PID namespace made it: of others, it is not known whether they live. */
const isOurPlace = (tag: string): boolean =>
  tag.split('.').slice(2).join('.') === processTagOf(process.pid).split('.').slice(2).join('.');
