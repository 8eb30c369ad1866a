// The flags of bubblewrap, which decide what a sandboxed command sees: separate user, mount, process, network, IPC and
// host-name namespaces; no capabilities; the system's programs and libraries, read-only; a private /tmp; the workspace at
// its real path, so that paths in outputs are valid outside; no home, no network, and of /etc only what the loader needs.
// Nothing shows the data of refold itself, and git directories are read-only.
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname } from 'node:path';
import { COMMAND_TMP_BYTES_MAX } from '../../../schemas/limits.ts';
import { isWithin } from '../workspace/mounts.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { MASKED } from './check-mounts.ts';
import type { Command } from './command.ts';
import { type Shield, shieldFlags } from './shielded-paths.ts';

/** Descriptors of the sandbox: where it says what its process is, waits until its mounts are checked, and reads a filter. */
const SANDBOX_FDS = { info: 4, block: 5, filter: 6 } as const;

/** What the sandboxes of one host share. */
export interface SandboxMounts {
  /** Flags of bubblewrap. */
  readonly flags: readonly string[];
  /** The directories and files that they show. */
  readonly shown: readonly string[];
}

/** How a sandbox is made. */
export interface SandboxPlan {
  readonly mounts: SandboxMounts;
  /** Keep commands from making user namespaces, in which they would have capabilities. */
  readonly usernsFlags: readonly string[];
  readonly filtered: boolean;
  /** Whether it waits, when everything is mounted, until that was checked. */
  readonly waits: boolean;
  readonly shields: readonly Shield[];
}

export function bwrapArguments(
  { path }: Workspace,
  { mounts, usernsFlags, filtered, waits, shields }: SandboxPlan,
  command: Command,
): readonly string[] {
  const flags: readonly (readonly string[])[] = [
    ['--unshare-all', '--unshare-user', ...usernsFlags, '--cap-drop', 'ALL', '--die-with-parent', '--new-session'],
    ['--info-fd', `${SANDBOX_FDS.info}`, '--hostname', 'refold', '--clearenv'],
    waits ? ['--block-fd', `${SANDBOX_FDS.block}`] : [],
    filtered ? ['--seccomp', `${SANDBOX_FDS.filter}`] : [],
    ...Object.entries(command.variables).map(([name, value]) => ['--setenv', name, value]),
    mounts.flags,
    ['--proc', '/proc', ...masked(), '--dev', '/dev', '--size', String(COMMAND_TMP_BYTES_MAX), '--tmpfs', '/tmp'],
    // After /tmp, because both may lie in /tmp.
    command.folder === undefined ? [] : ['--ro-bind', command.folder, command.folder],
    ['--bind', path, path],
    shieldFlags(shields),
    ['--chdir', command.directory],
  ];
  return flags.flat();
}

const masked = (): readonly string[] =>
  [...MASKED].flatMap((path) => (existsSync(path) ? ['--ro-bind', '/dev/null', path] : []));

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
  for (const path of ['/etc/ld.so.cache', '/etc/alternatives']) {
    shown.push(path);
    flags.push('--ro-bind-try', path, path);
  }
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
