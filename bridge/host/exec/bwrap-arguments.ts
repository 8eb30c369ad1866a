// The flags of bubblewrap, which decide what a sandboxed command sees: separate user, mount, process, network, IPC and
// host-name namespaces; no capabilities; the system's programs and libraries, read-only; a private /tmp; the workspace at
// its real path, so that paths in outputs are valid outside; no home, no network, and of /etc only what the loader needs.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { COMMAND_TMP_BYTES_MAX } from '../../../schemas/limits.ts';
import { lookUp } from '../workspace/directory.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Command } from './command.ts';
import { maskedMounts } from './private-directories.ts';

/** What a sandbox shows of the machine, and what it hides of that. */
export interface Shown {
  readonly mounts: readonly string[];
  readonly hidden: readonly string[];
}

export function bwrapArguments(workspace: Workspace, { mounts, hidden }: Shown, command: Command): readonly string[] {
  const { path } = workspace;
  const masks = maskedMounts(hidden, { mounts, workspace: path });
  const flags: readonly (readonly string[])[] = [
    ['--unshare-all', '--unshare-user', '--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
    ['--info-fd', '4', '--hostname', 'refold', '--clearenv'],
    ...Object.entries(command.variables).map(([name, value]) => ['--setenv', name, value]),
    mounts,
    masks.before,
    ['--proc', '/proc', '--dev', '/dev', '--size', String(COMMAND_TMP_BYTES_MAX), '--tmpfs', '/tmp'],
    // After /tmp, because the workspace may lie in /tmp.
    ['--bind', path, path],
    protectedMounts(workspace),
    masks.after,
    ['--chdir', command.directory],
  ];
  return flags.flat();
}

/** Mounts of the system's programs; with `withNode`, also of the running node when it is installed elsewhere. */
export function systemMounts(withNode: boolean): readonly string[] {
  const mounts = ['--ro-bind', '/usr', '/usr'];
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) mounts.push('--symlink', readlinkSync(path), path);
    else if (stats?.isDirectory() === true) mounts.push('--ro-bind', path, path);
  }
  // The loader's cache, and the links that names such as `awk` lead to.
  for (const path of ['/etc/ld.so.cache', '/etc/alternatives']) mounts.push('--ro-bind-try', path, path);
  const prefix = dirname(dirname(realpathSync(process.execPath)));
  if (withNode && prefix !== '/' && prefix !== '/usr' && !prefix.startsWith('/usr/')) {
    mounts.push('--ro-bind', prefix, prefix);
  }
  return mounts;
}

// Commands may read .git and must not write it: hooks and configuration in it run later, as the host's user.
function protectedMounts({ root, path }: Workspace): readonly string[] {
  const stats = lookUp(root, '.git');
  const real = stats?.isDirectory() === true || stats?.isFile() === true;
  return real ? ['--ro-bind', `${path}/.git`, `${path}/.git`] : [];
}
