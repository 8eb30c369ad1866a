// The directories in which this process keeps what no tool may read or write: the data of an engine with its tokens, and the
// ledgers of a bridge. What opens one names it here, and every host of the process keeps its tools out, whichever was first.
import { existsSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';

let places: readonly string[] = [];

/** Keeps the tools of this process out of a directory, for as long as the process lives. */
export function addOwnPlace(path: string): void {
  const absolute = resolve(path);
  if (!places.includes(absolute)) places = [...places, absolute];
}

/** In the order in which they were added; the same array until there is another one. */
export const ownPlaces = (): readonly string[] => places;

/** Whether a directory is the data directory of an engine, also of another process, by what is in it. */
export const isDataDirectory = (path: string): boolean =>
  existsSync(`${path}/epochs`) && existsSync(`${path}/journal/CURRENT`);

/** The data directories in a directory, and in those directly in it. */
export function dataDirectoriesNear(path: string): readonly string[] {
  const children = directoriesIn(path);
  return [...children, ...children.flatMap(directoriesIn)].filter(isDataDirectory);
}

function directoriesIn(path: string): readonly string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(path, name));
  } catch {
    // It cannot be listed by this user, or was removed.
    return [];
  }
}
