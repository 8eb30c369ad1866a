// Directories and files that no tool may read or write: the data of the engine and of the bridge, with their tokens. They
// are compared by device and inode, so a symbolic link or a bind mount does not lead around the check. A workspace that
// lies in one is refused. A workspace that contains one is served: file tools refuse to open it, and a sandbox hides it.
//
// A path keeps its protection when something else takes it, such as a token file that was replaced by a rename, or a
// directory that is made later: what lies at a protected path of the workspace is looked up again with each check.
import { type Stats, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { dataDirectoriesNear, isDataDirectory, ownPlaces } from '../../../src/files/own-places.ts';
import { ToolFault } from '../outcome.ts';
import { isWithin, pathsShowing, readMounts } from './mounts.ts';

/** One path that a sandbox must not show. */
export interface HiddenPath {
  readonly path: string;
  readonly isDirectory: boolean;
}

export interface ProtectedPlaces {
  /** Whether one of them belongs to this user, who can read it then. */
  ownedBy(uid: number): boolean;
  /** Whether this is one of them. */
  has(stats: Stats): boolean;
  /** Whether a path without links is that of one of them, or lies in one, also where there is nothing yet. */
  covers(path: string): boolean;
  /** The paths in these directories that show one of them, or a part of one, now. Throws when one of them was moved. */
  hiddenIn(directories: readonly string[]): readonly HiddenPath[];
  /** The paths in the workspace that led to nothing when they were named: a command could make a link of one. */
  unmade(): readonly string[];
}

interface Place extends HiddenPath {
  readonly id: string;
  readonly uid: number;
}

const idOf = ({ dev, ino }: Stats): string => `${dev}:${ino}`;

/**
 * Protects `paths`, the data directories that can be told by their content, and what `added` returns from time to time. Throws
 * when the workspace is one of them or lies in one; so does every method, for one that was added.
 */
export function protectPlaces(
  workspace: string,
  paths: readonly string[],
  added: () => readonly string[] = ownPlaces,
): ProtectedPlaces {
  refuseInData(workspace);
  const layers = [placesOf(workspace, [...paths, ...dataDirectoriesNear(workspace)])];
  let count = 0;
  function all(): readonly ProtectedPlaces[] {
    const now = added();
    if (now.length > count) {
      layers.push(placesOf(workspace, now.slice(count)));
      count = now.length;
    }
    return layers;
  }
  all();
  return {
    has: (stats) => all().some((layer) => layer.has(stats)),
    covers: (path) => all().some((layer) => layer.covers(path)),
    hiddenIn: (directories) => outermost(all().flatMap((layer) => layer.hiddenIn(directories))),
    ownedBy: (uid) => all().some((layer) => layer.ownedBy(uid)),
    unmade: () => all().flatMap((layer) => layer.unmade()),
  };
}

/** Each path once, without those in another one. */
function outermost(hidden: readonly HiddenPath[]): readonly HiddenPath[] {
  const byPath = new Map(hidden.map((place) => [place.path, place]));
  const paths = [...byPath.keys()];
  return [...byPath.values()].filter(({ path }) => !paths.some((other) => other !== path && isWithin(path, other)));
}

function placesOf(workspace: string, paths: readonly string[]): ProtectedPlaces {
  const places = paths.flatMap(findPlace);
  const ids = new Set(places.map(({ id }) => id));
  refuseInside(workspace, places, ids);
  const shown = shownIn(workspace, paths);
  const missing = shown.filter((path) => existing(path).length === 0);

  function hiddenIn(directories: readonly string[]): readonly HiddenPath[] {
    const mounts = readMounts();
    const hidden = places.flatMap((place) => {
      const showing = pathsShowing(place.path, mounts).filter((path) =>
        directories.some((above) => isWithin(path, above)),
      );
      if (showing.includes(place.path) && !isStill(place)) throw movedFault(place);
      return showing.flatMap(existing);
    });
    hidden.push(...missing.flatMap(existing));
    return outermost(hidden);
  }

  // A part of a place that is mounted in the workspace has an identity of its own.
  for (const { path } of hiddenIn([workspace])) ids.add(idOf(statSync(path)));

  /** What has taken a protected path stays protected, wherever it is moved. */
  function isAtOne(id: string): boolean {
    const found = shown.some((path) => {
      const stats = statSync(path, { throwIfNoEntry: false });
      return stats !== undefined && idOf(stats) === id;
    });
    if (found) ids.add(id);
    return found;
  }
  return {
    has: (stats) => ids.has(idOf(stats)) || isAtOne(idOf(stats)),
    covers: (path) => shown.some((place) => isWithin(path, place)),
    hiddenIn,
    ownedBy: (uid) => places.some((place) => place.uid === uid),
    unmade: () => missing,
  };
}

export const NO_PLACES: ProtectedPlaces = {
  has: () => false,
  covers: () => false,
  hiddenIn: () => [],
  ownedBy: () => false,
  unmade: () => [],
};

/** The paths in the workspace that would show one of these, and hold nothing yet: a command could make it. */
export const missingIn = (workspace: string, paths: readonly string[]): readonly string[] =>
  shownIn(realpathSync(workspace), paths).filter((path) => existing(path).length === 0);

/** Every path in the workspace that shows one of these, or will show it once it exists. */
function shownIn(workspace: string, paths: readonly string[]): readonly string[] {
  const mounts = readMounts();
  const shown = paths.flatMap((path) => pathsShowing(withoutLinks(path), mounts));
  return [...new Set(shown)].filter((path) => isWithin(path, workspace));
}

/** The path without links, as far as it exists. */
function withoutLinks(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path === dirname(path) ? path : join(withoutLinks(dirname(path)), basename(path));
  }
}

function findPlace(path: string): readonly Place[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return [];
  return [{ path: realpathSync(path), id: idOf(stats), uid: stats.uid, isDirectory: stats.isDirectory() }];
}

function existing(path: string): readonly HiddenPath[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? [] : [{ path, isDirectory: stats.isDirectory() }];
}

function refuseInside(workspace: string, places: readonly Place[], ids: ReadonlySet<string>): void {
  const mounts = readMounts();
  const around = places.find(({ path }) => pathsShowing(path, mounts).some((shown) => isWithin(workspace, shown)));
  if (around !== undefined) throw insideFault(workspace, around.path);
  for (let directory = workspace; ; directory = dirname(directory)) {
    if (ids.has(idOf(statSync(directory)))) throw insideFault(workspace, directory);
    if (directory === dirname(directory)) return;
  }
}

/** Also that of an engine in another process. */
function refuseInData(workspace: string): void {
  for (let directory = workspace; directory !== dirname(directory); directory = dirname(directory)) {
    if (isDataDirectory(directory)) throw insideFault(workspace, directory);
  }
}

const insideFault = (workspace: string, place: string): Error =>
  new Error(
    `the workspace ${workspace} lies in ${place}, where refold keeps its own data; choose a directory outside it`,
  );

function isStill({ path, id }: Place): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && idOf(stats) === id;
}

const movedFault = ({ path }: Place): ToolFault =>
  new ToolFault(
    'forbidden',
    `${path}, where refold keeps its own data, was moved or replaced, so it cannot be hidden from the command; ` +
      'a person must restart the bridge',
  );

export const protectedFault = (shown: string): ToolFault =>
  new ToolFault('forbidden', `${shown} holds data of refold itself, which no tool may use; choose another path`);
