// Keeps sandboxed commands from leaving a git directory that programs of the user would run commands from. The git
// directories that exist when a command starts are shown to it read-only. A directory that appears while commands run
// cannot be prevented: it is put out of git's sight when the last of them has ended. Commands that overlap share one search
// before the first and one after the last, so that none of them takes a directory of another for one of the user's.
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GIT_ENTRIES_MAX, GIT_NOTES_MAX } from '../../../schemas/limits.ts';
import { isAlive, processTagOf } from '../../../src/files/process-tag.ts';
import { ToolFault } from '../outcome.ts';
import { pathOf } from '../workspace/path-name.ts';
import { userFilesIn } from '../workspace/user-files.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type GitEntries, type GitEntry, findGitEntries } from './git-entries.ts';
import { type Quarantined, quarantine } from './quarantine.ts';

/** What the search after the last of several commands found. */
export interface GitFindings {
  readonly quarantined: readonly Quarantined[];
  /** Not the whole workspace was searched and protected. */
  readonly isPartial: boolean;
  /** Directories that no search could list. */
  readonly unsearched: readonly string[];
  /** Git directories that commands could write: no argument of a sandbox can hold their names, which are not UTF-8. */
  readonly writable: readonly string[];
}

/** Runs one command, which must not write these. */
type RunCommand<T> = (readOnly: readonly GitEntry[]) => Promise<T>;

export interface GitGuard {
  around<T>(run: RunCommand<T>): Promise<[T, GitFindings]>;
  /** Resolves when no command runs, and the search after the last one has ended. */
  idle(): Promise<void>;
}

const NOTHING: GitFindings = { quarantined: [], isPartial: false, unsearched: [], writable: [] };

/** For commands that no sandbox confines: nothing can be kept from them. */
export const unguarded: GitGuard = {
  around: async (run) => [await run([]), NOTHING],
  idle: () => Promise.resolve(),
};

/** `records`: a directory of the host, where the next host finds what a killed one knew. */
export function openGitGuard(workspace: Workspace, records: string): GitGuard {
  const record = join(records, `git-${processTagOf(process.pid)}.json`);
  const inFlight = new Set<Promise<unknown>>();
  /** Ids of what could not be moved: it is never taken for the user's own, and each search tries again. */
  const unmoved = new Set<string>();
  let running = 0;
  let before: Promise<GitEntries> | null = null;
  let after: Promise<GitFindings> | null = null;

  async function searchBefore(): Promise<GitEntries> {
    const entries = await findGitEntries(workspace.root, ({ id }) => !unmoved.has(id), userFilesIn(workspace.path));
    const found = new Map([...entries.found].filter(([, { id }]) => !unmoved.has(id)));
    if (found.size > GIT_ENTRIES_MAX) throw tooManyFault(found.size);
    writeRecord(record, JSON.stringify({ workspace: workspace.path, known: [...found] }));
    return { ...entries, found };
  }

  async function searchAfter(known: GitEntries | null): Promise<GitFindings> {
    if (known === null) return NOTHING;
    const { quarantined, left, isPartial, unsearched } = await quarantineNew(workspace, known.found);
    for (const { id } of left) unmoved.add(id);
    // The next host tries again when this one is killed.
    if (left.length === 0) rmSync(record, { force: true });
    const paths = [...known.found.values()].filter((entry) => !canBeArgument(entry));
    return {
      quarantined,
      isPartial: isPartial || known.isPartial || paths.length > 0,
      unsearched: [...new Set([...known.unsearched, ...unsearched])],
      writable: paths.map(({ names }) => pathOf(names).shown),
    };
  }

  async function leave(): Promise<GitFindings> {
    running -= 1;
    if (running > 0 || before === null) return NOTHING;
    after = before.catch(() => null).then(searchAfter);
    before = null;
    try {
      return await after;
    } finally {
      after = null;
    }
  }

  async function enclose<T>(run: RunCommand<T>): Promise<[T, GitFindings]> {
    if (after !== null) {
      await after.catch(() => NOTHING);
      return await enclose(run);
    }
    running += 1;
    before ??= searchBefore();
    const [ran] = await Promise.allSettled([
      before.then(({ found }) => run([...found.values()].filter(canBeArgument))),
    ]);
    const findings = await leave();
    if (ran.status === 'rejected') throw ran.reason;
    return [ran.value, findings];
  }

  return {
    around(run) {
      const work = enclose(run);
      const settled = work.catch(() => undefined);
      inFlight.add(settled);
      void settled.then(() => inFlight.delete(settled));
      return work;
    },
    async idle() {
      await Promise.all(inFlight);
    },
  };
}

/** It is on disk when a command starts: what the command leaves may be there, too, after a power cut. */
function writeRecord(path: string, text: string): void {
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

/** Does what a killed host could not: puts out of git's sight what appeared while its last commands ran. */
export async function recoverGit(workspace: Workspace, records: string): Promise<readonly Quarantined[]> {
  const quarantined: Quarantined[] = [];
  for (const name of readdirSync(records)) {
    const [, tag] = /^git-([0-9a-f.]+)\.json$/.exec(name) ?? [];
    if (tag === undefined || isAlive(tag)) continue;
    const path = join(records, name);
    const known = readRecord(path, workspace.path);
    if (known === null) continue;
    const after = await quarantineNew(workspace, known);
    quarantined.push(...after.quarantined);
    if (after.left.length === 0) rmSync(path, { force: true });
  }
  return quarantined;
}

/** Null for a record of another workspace, and for one that was not written whole: then its commands never started. */
function readRecord(path: string, workspace: string): ReadonlyMap<string, GitEntry> | null {
  try {
    const record = JSON.parse(readFileSync(path, 'utf8')) as { workspace: string; known: [string, GitEntry][] };
    return record.workspace === workspace ? new Map(record.known) : null;
  } catch {
    return null;
  }
}

/** Node passes arguments as UTF-8. */
const canBeArgument = ({ names }: GitEntry): boolean => names.every((name) => name.isWellFormed());

/** `left`: what could not be moved. */
async function quarantineNew(
  workspace: Workspace,
  known: ReadonlyMap<string, GitEntry>,
): Promise<
  Pick<GitFindings, 'quarantined' | 'isPartial'> & Pick<GitEntries, 'unsearched'> & { left: readonly GitEntry[] }
> {
  const isOwn = ({ names, id }: GitEntry): boolean => known.get(names.join('/'))?.id === id;
  const { found, isPartial, unsearched } = await findGitEntries(workspace.root, isOwn, userFilesIn(workspace.path));
  const appeared = [...found.values()].filter((entry) => !isOwn(entry));
  const quarantined = quarantine(workspace.root, appeared);
  const left = appeared.filter((_, index) => quarantined[index]?.movedTo === null);
  return { quarantined, left, isPartial, unsearched };
}

const tooManyFault = (count: number): ToolFault =>
  new ToolFault(
    'too_many_git_directories',
    `the workspace has ${count} git directories, of which at most ${GIT_ENTRIES_MAX} can be made read-only for a ` +
      'command; a person must choose a smaller workspace',
  );

/** Lines for the model; none when nothing was found. */
export function gitNotes({ quarantined, isPartial, unsearched, writable }: GitFindings): readonly string[] {
  const shown = quarantined.slice(0, GIT_NOTES_MAX);
  const more = quarantined.length - shown.length;
  return [
    ...shown.map(({ path, movedTo }) =>
      movedTo === null
        ? `[${path} is a new git directory and could not be moved: do not run git there]`
        : `[${path} was moved to ${movedTo}]`,
    ),
    ...(more === 0 ? [] : [`[${more} more were found]`]),
    ...(quarantined.length === 0 ? [] : [WHY_MOVED]),
    ...unsearched
      .slice(0, GIT_NOTES_MAX)
      .map((path) => `[${path} could not be searched for new git directories: do not run git there]`),
    ...writable
      .slice(0, GIT_NOTES_MAX)
      .map((path) => `[${path} has a name that is not UTF-8 and was not read-only: a person must look at it]`),
    ...(isPartial ? [PARTIAL] : []),
  ];
}

const WHY_MOVED =
  '[A command must not leave a new repository (.git, .hg, .jj), and in a home directory no configuration of git, ssh or a shell, because ' +
  'programs of the user run commands that these name. ' +
  'A person who trusts it can move it back.]';
const PARTIAL =
  '[The workspace is too large to be searched for new git directories, or has the directories above: not all of it was ' +
  'searched and protected.]';
