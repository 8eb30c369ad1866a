// The flags of bubblewrap, which decide what a sandboxed command sees: separate user, mount, process, network, IPC and
// host-name namespaces; no capabilities; the system's programs and libraries, read-only; a private /tmp; the workspace at
// its real path, so that paths in outputs are valid outside; no home, no network, and of /etc only what the loader needs.
// Nothing shows the data of refold itself, and git directories are read-only.
import { lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { COMMAND_TMP_BYTES_MAX } from '../../../schemas/limits.ts';
import { isWithin } from '../workspace/mounts.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Command } from './command.ts';
import { shieldFlags } from './shielded-paths.ts';

/** What the sandboxes of one host share. */
export interface SandboxMounts {
  /** Flags of bubblewrap. */
  readonly flags: readonly string[];
  /** The directories that they show. */
  readonly shown: readonly string[];
}

export function bwrapArguments(
  workspace: Workspace,
  { mounts, usernsFlags }: { readonly mounts: SandboxMounts; readonly usernsFlags: readonly string[] },
  command: Command,
): readonly string[] {
  const { path } = workspace;
  const flags: readonly (readonly string[])[] = [
    ['--unshare-all', '--unshare-user', ...usernsFlags, '--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
    ['--info-fd', '4', '--hostname', 'refold', '--clearenv'],
    ...Object.entries(command.variables).map(([name, value]) => ['--setenv', name, value]),
    mounts.flags,
    ['--proc', '/proc', '--dev', '/dev', '--size', String(COMMAND_TMP_BYTES_MAX), '--tmpfs', '/tmp'],
    // After /tmp, because the workspace may lie in /tmp.
    ['--bind', path, path],
    shieldFlags(workspace, command.readOnly, mounts.shown),
    ['--chdir', command.directory],
  ];
  return flags.flat();
}

/** Mounts of the system's programs; with `withNode`, also of the running node when it is installed elsewhere. */
export function systemMounts(withNode: boolean): SandboxMounts {
  const shown: string[] = [];
  const flags: string[] = [];
  const show = (path: string): void => {
    shown.push(path);
    flags.push('--ro-bind', path, path);
  };
  show('/usr');
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats?.isSymbolicLink() === true) flags.push('--symlink', readlinkSync(path), path);
    else if (stats?.isDirectory() === true) show(path);
  }
  // The loader's cache, and the links that names such as `awk` lead to.
  for (const path of ['/etc/ld.so.cache', '/etc/alternatives']) flags.push('--ro-bind-try', path, path);
  if (withNode) {
    const node = nodeToShow();
    if (!isWithin(node, '/usr')) show(node);
  }
  return { flags, shown };
}

/** The directory that node is installed in; only its program where that directory holds the user's files too. */
function nodeToShow(): string {
  const program = realpathSync(process.execPath);
  const prefix = dirname(dirname(program));
  return prefix === '/' || isWithin(realOrSame(homedir()), prefix) ? program : prefix;
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
