// The programs that run outside every sandbox: refold's package, the `node_modules` directories in which its imports and
// `npx refold` are looked up, the running node, and the directories of the helper programs. Tools read them where they lie
// in the workspace, and never write them: else the next `npx refold` would run what a model wrote.
//
// What they are is read once, when the host opens: a list that is read again would follow a link that a command has made
// since, and would let it choose what is protected. Where such a program could appear later is watched instead (`watched`).
import { existsSync, lstatSync, readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { HELPER_DIRECTORIES } from '../../../src/files/helper-programs.ts';
import { isWithin, pathsShowing, readMounts } from './mounts.ts';

const HELPERS = ['bwrap', 'sh', 'prlimit'] as const;

/** What runs now. */
export interface RunningCode {
  /** The directory of refold's package. */
  readonly package: string;
  /** The path of node. */
  readonly node: string;
}

/** The own code of one workspace. */
export interface OwnCode {
  /** Every path in the workspace that shows own code, the outermost only. Some may not exist: then nothing may be made there. */
  shown(): readonly string[];
  /**
   * The names, from the workspace downwards, that would lead to own code and that a command could make: what appears there
   * while commands run is renamed, like a git directory (`bridge/host/git/git-guard.ts`). Some may exist.
   */
  watched(): readonly (readonly string[])[];
}

/** The first call of `shown` fixes what the own code is. `watched` depends on nothing that a command can make. */
export function openOwnCode(workspace: string, running: RunningCode = runningCode()): OwnCode {
  let places: readonly string[] | undefined;
  return {
    shown: () => shownIn(workspace, (places ??= placesOf(workspace, running))),
    watched() {
      const looked = shownIn(workspace, modulesAbove(realpathSync(running.package)));
      const offered = OFFERED.map((name) => join(workspace, 'node_modules', name));
      return [...looked, ...offered].map((path) => relative(workspace, path).split('/'));
    },
  };
}

/** What makes `npx refold` run a program of the workspace. */
const OFFERED = ['refold', '.bin/refold'] as const;

/** The paths in the workspace that show one of these places, the outermost only. */
function shownIn(workspace: string, places: readonly string[]): readonly string[] {
  const mounts = readMounts();
  const shown = places.flatMap((place) => pathsShowing(place, mounts)).filter((path) => isWithin(path, workspace));
  return [...new Set(shown)].filter((path) => !shown.some((other) => other !== path && isWithin(path, other)));
}

/** Throws for a workspace whose own code could not be kept from the tools. */
export function refuseOwnCode(workspace: string, running: RunningCode = runningCode()): void {
  const mounts = readMounts();
  const around = placesOf(workspace, running).find((place) =>
    pathsShowing(place, mounts).some((shown) => isWithin(workspace, shown)),
  );
  if (around !== undefined)
    throw new Error(
      `the workspace ${workspace} lies in ${around}, whose programs refold itself runs, so no tool may write there; choose ` +
        'a directory outside it. To work on refold with refold, run a copy that is installed outside the workspace',
    );
  const linked = moduleDirectories(workspace, running).find(
    (path) => isWithin(path, workspace) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true,
  );
  if (linked !== undefined)
    throw new Error(
      `${linked}, in which refold is looked up, is a symbolic link, which a command could replace; make it a directory, or ` +
        'install refold outside the workspace',
    );
  const helper = helperPaths().find((path) => isInside(realpathSync(path), workspace));
  if (helper !== undefined)
    throw new Error(
      `${helper}, which refold runs, lies in the workspace ${workspace}; install it elsewhere, or choose another workspace`,
    );
}

/** Whether a path without links lies in the workspace, whatever path leads there. */
const isInside = (real: string, workspace: string): boolean =>
  pathsShowing(workspace, readMounts()).some((shown) => isWithin(real, shown));

function placesOf(workspace: string, running: RunningCode): readonly string[] {
  const node = realpathSync(running.node);
  // A workspace may hold the program of node itself; then only that file is refold's.
  const programs = dirname(node) === workspace ? [node] : [node, dirname(node)];
  const packages = packagesIn(workspace, running);
  const modules = moduleDirectories(workspace, running).map(realOrSame);
  return [...packages, ...modules, ...programs, ...HELPER_DIRECTORIES.map(realOrSame)];
}

/**
 * The running package, and the one that `npx refold` in the workspace would run. A link that leads to the workspace itself, or
 * around it, is no package: else the workspace as a whole would be own code, and any command could have made it so.
 */
function packagesIn(workspace: string, running: RunningCode): readonly string[] {
  const installed = join(workspace, 'node_modules', 'refold');
  const target = existsSync(installed) ? realpathSync(installed) : null;
  return [
    realpathSync(running.package),
    ...(target === null || pathsShowing(target, readMounts()).some((shown) => isWithin(workspace, shown))
      ? []
      : [target]),
  ];
}

/** The directories in which node looks up what these packages import, and npx looks up refold. */
function moduleDirectories(workspace: string, running: RunningCode): readonly string[] {
  const own = join(workspace, 'node_modules');
  const offersRefold = OFFERED.some((name) => lstatSync(join(own, name), { throwIfNoEntry: false }) !== undefined);
  return [...(offersRefold ? [own] : []), ...packagesIn(workspace, running).flatMap(modulesAbove)];
}

function modulesAbove(directory: string): readonly string[] {
  const above = dirname(directory);
  if (above === directory) return [];
  return [...(basename(above) === 'node_modules' ? [] : [join(above, 'node_modules')]), ...modulesAbove(above)];
}

const helperPaths = (): readonly string[] =>
  HELPER_DIRECTORIES.flatMap((directory) => HELPERS.map((name) => `${directory}/${name}`)).filter((path) =>
    existsSync(path),
  );

const runningCode = (): RunningCode => ({ package: packageOf(import.meta.dirname), node: process.execPath });

/** The package named refold that a directory lies in; of refold in a bundle, the directory itself. */
function packageOf(directory: string): string {
  for (let at = directory; at !== dirname(at); at = dirname(at)) {
    const path = join(at, 'package.json');
    if (!existsSync(path)) continue;
    const { name } = JSON.parse(readFileSync(path, 'utf8')) as { readonly name?: unknown };
    return name === 'refold' ? at : directory;
  }
  return directory;
}

function realOrSame(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
