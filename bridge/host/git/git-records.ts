// What the hosts of one workspace know of each other while their commands run. Each search before commands leaves a record of
// the git directories that the user had then. One that is missing in another host's record may be the work of that host's
// commands, so it does not count as the user's own. A host that moves a git directory away notes this in every other record:
// another host may have seen the directory before, and must not take it for the user's own when a command moves it back.
//
// A record has two files in each directory of records: `git-<process>-<n>.json` is what was known; `.moved` beside it names
// the workspace, then what others moved, as JSON, an item a line. They exist from before the search until nothing is left to
// be done.
import { randomBytes } from 'node:crypto';
import { closeSync, constants, fsyncSync, openSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isAlive, processTagOf } from '../../../src/files/process-tag.ts';
import { errorName } from '../outcome.ts';
import type { GitEntry } from './git-entries.ts';

type Entries = ReadonlyMap<string, GitEntry>;

/** The directories that hold records: the host's own, and where there is one, that of all hosts of the workspace and user. */
export type RecordPlaces = () => readonly string[];

export interface GitRecord {
  readonly name: string;
  /** Before the search: what another host moves from now on is noted here. */
  begin(): void;
  /** Whether an entry is in the record of every other host that runs commands, and was moved by none. */
  ownFilter(): (entry: GitEntry) => boolean;
  /** Ids of what others put out of git's sight since this record was begun. */
  movedByOthers(): ReadonlySet<string>;
  /** It is on disk when a command starts: what the command leaves may be there, too, after a power cut. */
  write(known: Entries): void;
  remove(): void;
}

/** The record of one host, for as long as it lives. */
export const openRecord = (workspace: string, places: RecordPlaces): GitRecord =>
  recordAt(workspace, places, `git-${processTagOf(process.pid)}-${randomBytes(4).toString('hex')}`);

/** The records of hosts that were killed while their commands ran, with what these hosts knew. */
export function abandonedRecords(
  workspace: string,
  places: RecordPlaces,
): readonly { readonly found: Entries; readonly record: GitRecord }[] {
  const directories = places();
  return recordNames(directories)
    .filter((name) => !isAlive(tagOf(name)))
    .flatMap((name) => {
      const record = recordAt(workspace, places, name);
      const found = directories
        .map((place) => readKnown(join(place, `${name}.json`), workspace))
        .find((known) => known);
      if (found) return [{ found, record }];
      // Its commands never started, or it is of another workspace.
      if (directories.some((place) => isOf(workspace, join(place, `${name}.moved`)))) record.remove();
      return [];
    });
}

/** Notes these ids with every other record of the workspace. */
export function tellOthers(
  workspace: string,
  places: RecordPlaces,
  { of, ids }: { readonly of: GitRecord; readonly ids: readonly string[] },
): void {
  if (ids.length === 0) return;
  const lines = ids.map((id) => `${JSON.stringify(id)}\n`).join('');
  for (const place of places())
    for (const name of recordNames([place])) {
      const path = join(place, `${name}.moved`);
      if (name !== of.name && isOf(workspace, path)) append(path, lines);
    }
}

function recordAt(workspace: string, places: RecordPlaces, name: string): GitRecord {
  function movedByOthers(): ReadonlySet<string> {
    return new Set(places().flatMap((place) => readMoved(join(place, `${name}.moved`))));
  }
  return {
    name,
    begin() {
      const text = `${JSON.stringify(workspace)}\n`;
      for (const place of places()) writeFileSync(join(place, `${name}.moved`), text, { mode: 0o600 });
    },
    movedByOthers,
    ownFilter() {
      const others = places().flatMap((place) =>
        recordNames([place])
          .filter((other) => other !== name)
          .flatMap((other) => readKnown(join(place, `${other}.json`), workspace) ?? []),
      );
      const moved = movedByOthers();
      return ({ names, id }) => !moved.has(id) && others.every((known) => known.get(names.join('/'))?.id === id);
    },
    write(known) {
      const text = JSON.stringify({ workspace, known: [...known] });
      for (const place of places()) writeDurably(join(place, `${name}.json`), text);
    },
    remove() {
      for (const place of places())
        for (const end of ['json', 'moved']) rmSync(join(place, `${name}.${end}`), { force: true });
    },
  };
}

/** `git-<process tag>` or, of several in one process, `git-<process tag>-<n>`. */
const NAME = /^(git-([0-9a-f.]+)(?:-[0-9a-f]+)?)\.(?:json|moved)$/;

const recordNames = (places: readonly string[]): readonly string[] => [
  ...new Set(places.flatMap((place) => readdirSync(place)).flatMap((file) => NAME.exec(file)?.[1] ?? [])),
];

const tagOf = (name: string): string => NAME.exec(`${name}.json`)?.[2] ?? '';

/** Null for a record of another workspace, and for one that was not written whole: then its commands never started. */
function readKnown(path: string, workspace: string): Entries | null {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as { workspace: string; known: [string, GitEntry][] };
    return record.workspace === workspace ? new Map(record.known) : null;
  } catch {
    return null;
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'utf8').split('\n');
  } catch (error) {
    // An old record has no such file, and that of a host that has ended is gone.
    if (errorName(error) === 'ENOENT') return [];
    throw error;
  }
}

const isOf = (workspace: string, path: string): boolean => readLines(path)[0] === JSON.stringify(workspace);

const readMoved = (path: string): readonly string[] =>
  readLines(path)
    .slice(1)
    .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as string]));

/** To a file that its host has removed, nothing is added. */
function append(path: string, lines: string): void {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_APPEND);
    try {
      writeFileSync(fd, lines);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (errorName(error) !== 'ENOENT') throw error;
  }
}

function writeDurably(path: string, text: string): void {
  for (const [target, flags] of [
    [path, 'w'],
    [dirname(path), 'r'],
  ] as const) {
    const fd = openSync(target, flags, 0o600);
    try {
      if (flags === 'w') writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}
