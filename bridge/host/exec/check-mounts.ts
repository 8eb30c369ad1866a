// Compares what the sandbox of one command shows with what it should show, after bubblewrap has mounted everything and before
// the command starts. bubblewrap resolves paths by name, and another command may replace a directory by a link between the
// choice of the mounts and their making: then a mount shows another directory, or covers one. Such a sandbox is not used.
//
// The kernel says of each mount which device and which directory of it is shown where (proc(5), mountinfo), whatever path led
// there. Only these may be there: what this process sees at the same path, new file systems of bubblewrap, and empty places.
import { fstatSync, lstatSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { ToolFault } from '../outcome.ts';
import { type Mount, isWithin, parseMounts } from '../workspace/mounts.ts';
import type { Workspace } from '../workspace/workspace.ts';
import type { Shield } from './shielded-paths.ts';

/** What a sandbox was asked to show. */
export interface Asked {
  readonly workspace: Workspace;
  /** Directories and files of the system. */
  readonly shown: readonly string[];
  readonly shields: readonly Shield[];
}

/** Whether the sandbox of this process is set up: it gives its capabilities up when everything is mounted, and then waits. */
export function isSetUp(pid: number): boolean {
  const status = readFileSync(`/proc/${pid}/status`, 'latin1');
  return ['CapEff', 'CapPrm'].every((set) => new RegExp(`^${set}:\\s*0+$`, 'm').test(status));
}

/** Throws when the sandbox of this process does not show what was asked. */
export function checkMounts(pid: number, asked: Asked): void {
  const inside = parseMounts(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'));
  const outside = parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
  const wrong = findUnasked(inside, outside, asked) ?? findChanged(pid, asked);
  if (wrong === undefined) return;
  throw new ToolFault(
    'spawn_failed',
    `${wrong} changed while the sandbox was set up, so the command was not started; try again when no other command runs`,
  );
}

/** A path where something else is mounted than was asked, or nothing. */
export function findUnasked(
  inside: readonly Mount[],
  outside: readonly Mount[],
  { workspace, shown, shields }: Asked,
): string | undefined {
  const devices = new Set(outside.map(({ device }) => device));
  const byPath = new Map(shields.map((shield) => [shield.path, shield]));
  const points = new Set(outside.map(({ point }) => point));
  const showsSame = ({ point, device, root }: Mount, path = point): boolean =>
    outside.some(
      (on) => isWithin(path, on.point) && device === on.device && root === join(on.root, relative(on.point, path)),
    );
  const isNew = ({ device, root, type }: Mount): boolean => !devices.has(device) && root === '/' && NEW_TYPES.has(type);

  function isAsked(mount: Mount): boolean {
    const { point } = mount;
    const shield = byPath.get(point);
    if (shield?.as === 'hidden-directory' && isNew(mount) && mount.type === 'tmpfs') return true;
    if (shield?.as === 'hidden-file' && showsSame(mount, '/dev/null')) return true;
    if (isWithin(point, workspace.path))
      return (shield !== undefined || point === workspace.path || points.has(point)) && showsSame(mount);
    if (point === '/') return mount.device !== '' && !devices.has(mount.device) && mount.type === 'tmpfs';
    if (MASKED.has(point) && showsSame(mount, '/dev/null')) return true;
    // bubblewrap mounts parts of its new /proc over themselves.
    if (['/proc', '/dev', '/tmp'].some((place) => isWithin(point, place)) && !devices.has(mount.device))
      return NEW_TYPES.has(mount.type);
    return [...shown, '/dev'].some((place) => isWithin(point, place)) && showsSame(mount);
  }

  const unasked = inside.find((mount) => !isAsked(mount));
  if (unasked !== undefined) return unasked.point;
  const missing = [{ path: workspace.path, as: 'above' } as const, ...shields].find(({ path, as }) => {
    const top = inside.findLast(({ point }) => point === path);
    return top === undefined || (as !== 'above' && !top.readOnly) || (as.startsWith('hidden') && showsSame(top));
  });
  return missing?.path;
}

const NEW_TYPES: ReadonlySet<string> = new Set(['tmpfs', 'proc', 'devpts', 'mqueue']);

/** Files of the kernel that a sandbox shows empty. */
export const MASKED: ReadonlySet<string> = new Set(['/proc/keys', '/proc/key-users']);

/** A path where the sandbox shows another file or directory than the one that was opened. */
function findChanged(pid: number, { workspace, shields }: Asked): string | undefined {
  const seen = (path: string): string => `/proc/${pid}/root${path}`;
  const root = fstatSync(workspace.root.fd);
  const shown = statSync(seen(workspace.path));
  if (shown.dev !== root.dev || shown.ino !== root.ino) return workspace.path;
  return shields.find(({ path, id }) => {
    if (id === null) return false;
    const stats = lstatSync(seen(path), { throwIfNoEntry: false });
    return stats === undefined || `${stats.dev}:${stats.ino}` !== id;
  })?.path;
}
