// Where a directory lies on its file system, and every path that leads to it: a bind mount shows one directory at several
// paths, which no comparison of paths would detect.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { codeOf } from '../../../src/files/file-failure.ts';

/** One mount, as a line of /proc/self/mountinfo gives it (proc(5)). */
export interface Mount {
  readonly device: string;
  /** The directory of the file system that is mounted. */
  readonly root: string;
  /** Where it is mounted. */
  readonly point: string;
  /** Of the mount itself: its file system may be read-only besides. */
  readonly readOnly: boolean;
  /** Of the file system, such as `ext4`. */
  readonly type: string;
}

/** Every mount of this process, in order of mounting; none on a system without /proc. */
export function readMounts(): readonly Mount[] {
  try {
    return parseMounts(readFileSync('/proc/self/mountinfo', 'utf8'));
  } catch (error) {
    // Without the mounts, a protected place could be reached by another path.
    if (codeOf(error) !== 'ENOENT') throw error;
    return [];
  }
}

export const parseMounts = (text: string): readonly Mount[] =>
  text.split('\n').flatMap((line) => {
    const fields = line.split(' ').map(unescaped);
    const [, , device, root, point, options] = fields;
    if (device === undefined || root === undefined || point === undefined || options === undefined) return [];
    // A hyphen ends the optional fields, of which there may be several.
    const type = fields[fields.indexOf('-', 6) + 1] ?? '';
    return [{ device, root, point, readOnly: options.split(',').includes('ro'), type }];
  });

// The kernel writes a space, a tab, a line feed and a backslash in octal.
const unescaped = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Whether `path` is `directory` or lies in it. Both are absolute and without links. */
export const isWithin = (path: string, directory: string): boolean =>
  path === directory || path.startsWith(directory.endsWith('/') ? directory : `${directory}/`);

/** Every path that shows the directory `real`, or a part of it; `real` itself is the first. */
export function pathsShowing(real: string, mounts: readonly Mount[]): readonly string[] {
  const on = mountOf(real, mounts);
  if (on === undefined) return [real];
  const inside = join(on.root, relative(on.point, real));
  const others = mounts
    .filter(({ device }) => device === on.device)
    .flatMap(({ root, point }) => {
      if (isWithin(inside, root)) return [join(point, relative(root, inside))];
      return isWithin(root, inside) ? [point] : [];
    });
  return [...new Set([real, ...others])];
}

/** The mount that a path leads to: the deepest one, and of several at one point the last. */
const mountOf = (path: string, mounts: readonly Mount[]): Mount | undefined =>
  mounts.reduce<Mount | undefined>(
    (best, mount) => (isWithin(path, mount.point) && mount.point.length >= (best?.point.length ?? 0) ? mount : best),
    undefined,
  );
