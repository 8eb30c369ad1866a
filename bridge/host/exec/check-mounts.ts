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
  const seen = viewOf(outside);
  const byPath = new Map(shields.map((shield) => [shield.path, shield]));

  function isAsked(mount: Mount): boolean {
    const { point } = mount;
    const shield = byPath.get(point);
    if (shield !== undefined && isHiding(shield, mount, seen)) return true;
    if (isWithin(point, workspace.path)) {
      const isMeant = shield !== undefined || point === workspace.path || seen.isPoint(point);
      return isMeant && seen.isSame(mount);
    }
    return isOfSystem(mount, shown, seen);
  }

  const unasked = inside.find((mount) => !isAsked(mount));
  if (unasked !== undefined) return unasked.point;
  const missing = [{ path: workspace.path, as: 'above' } as const, ...shields].find(({ path, as }) => {
    const top = inside.findLast(({ point }) => point === path);
    return top === undefined || (as !== 'above' && !top.readOnly) || (as.startsWith('hidden') && seen.isSame(top));
  });
  return missing?.path;
}

/** What this process sees at the paths where a sandbox mounts. */
interface View {
  isPoint(path: string): boolean;
  /** Whether a mount shows what is at this path here, by default at the path where it is mounted. */
  isSame(mount: Mount, path?: string): boolean;
  /** Whether it is a file system that is mounted nowhere here. */
  isNew(mount: Mount): boolean;
}

function viewOf(mounts: readonly Mount[]): View {
  const devices = new Set(mounts.map(({ device }) => device));
  const points = new Set(mounts.map(({ point }) => point));
  return {
    isPoint: (path) => points.has(path),
    isSame: ({ point, device, root }, path = point) =>
      mounts.some(
        (on) => isWithin(path, on.point) && device === on.device && root === join(on.root, relative(on.point, path)),
      ),
    isNew: ({ device, type }) => !devices.has(device) && NEW_TYPES.has(type),
  };
}

/** The file systems that bubblewrap makes. */
const NEW_TYPES: ReadonlySet<string> = new Set(['tmpfs', 'proc', 'devpts', 'mqueue']);

function isHiding({ as }: Shield, mount: Mount, seen: View): boolean {
  if (as === 'hidden-directory') return mount.type === 'tmpfs' && seen.isNew(mount);
  return as === 'hidden-file' && seen.isSame(mount, '/dev/null');
}

/** Whether a mount outside the workspace may be there. bubblewrap mounts parts of its new /proc over themselves. */
function isOfSystem(mount: Mount, shown: readonly string[], seen: View): boolean {
  const { point } = mount;
  if (point === '/') return mount.type === 'tmpfs' && seen.isNew(mount);
  if (MASKED.has(point) && seen.isSame(mount, '/dev/null')) return true;
  const isIn = (places: readonly string[]): boolean => places.some((place) => isWithin(point, place));
  return (isIn(['/proc', '/dev', '/tmp']) && seen.isNew(mount)) || (isIn([...shown, '/dev']) && seen.isSame(mount));
}

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
