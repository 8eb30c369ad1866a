// Keeps sandboxed commands from leaving a git directory that programs of the user would run commands from. The git
// directories that exist when a command starts are shown to it read-only. A directory that appears while commands run
// cannot be prevented: it is put out of git's sight when the last of them has ended. Commands that overlap share one search
// before the first and one after the last, so that none of them takes a directory of another for one of the user's. The same
// holds for hosts that share a workspace: `git-records.ts` is what they know of each other.
import { relative } from 'node:path';
import { GIT_ENTRIES_MAX, GIT_NOTES_MAX } from '../../../schemas/limits.ts';
import { ToolFault } from '../outcome.ts';
import { pathOf } from '../workspace/path-name.ts';
import { userFilesIn } from '../workspace/user-files.ts';
import type { Workspace } from '../workspace/workspace.ts';
import { type GitEntries, type GitEntry, type WatchedNames, findGitEntries } from './git-entries.ts';
import { type GitRecord, type RecordPlaces, abandonedRecords, openRecord, tellOthers } from './git-records.ts';
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

/** What the user had before the commands that run now. */
interface Known extends GitEntries {
  /** What a killed host had left. */
  readonly recovered: readonly Quarantined[];
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

export function openGitGuard(workspace: Workspace, places: RecordPlaces): GitGuard {
  const record = openRecord(workspace.path, places);
  /** Ids of what could not be moved: it is never taken for the user's own, and each search tries again. */
  const unmoved = new Set<string>();
  let running = 0;
  let before: Promise<Known> | null = null;
  let after: Promise<GitFindings> | null = null;

  async function searchBefore(): Promise<Known> {
    // What a host that was killed meanwhile left is not taken for the user's own.
    const recovered = await recoverGit(workspace, places);
    record.begin();
    const entries = await findGitEntries(workspace.root, ({ id }) => !unmoved.has(id), watchedIn(workspace));
    const isOwn = record.ownFilter();
    const found = new Map([...entries.found].filter(([, entry]) => !unmoved.has(entry.id) && isOwn(entry)));
    if (found.size > GIT_ENTRIES_MAX) throw tooManyFault(found.size);
    record.write(found);
    return { ...entries, found, recovered };
  }

  async function searchAfter(known: Known | null): Promise<GitFindings> {
    if (known === null) {
      if (unmoved.size === 0) record.remove();
      return NOTHING;
    }
    const { quarantined, left, isPartial, unsearched } = await quarantineNew(
      { workspace, record, places },
      known.found,
    );
    for (const { id } of left) unmoved.add(id);
    // The next host tries again when this one is killed.
    if (left.length === 0) record.remove();
    const paths = [...known.found.values()].filter((entry) => !canBeArgument(entry));
    return {
      quarantined: [...known.recovered, ...quarantined],
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

  return withIdle(enclose);
}

function withIdle(around: GitGuard['around']): GitGuard {
  const inFlight = new Set<Promise<unknown>>();
  return {
    around(run) {
      const work = around(run);
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

/** Does what a killed host could not: puts out of git's sight what appeared while its last commands ran. */
export async function recoverGit(workspace: Workspace, places: RecordPlaces): Promise<readonly Quarantined[]> {
  const quarantined: Quarantined[] = [];
  for (const { found, record } of abandonedRecords(workspace.path, places)) {
    const after = await quarantineNew({ workspace, record, places }, found);
    quarantined.push(...after.quarantined);
    if (after.left.length === 0) record.remove();
  }
  return quarantined;
}

/** What else programs of the user would run, or where refold would follow a link that a command made. */
function watchedIn({ path, code, places }: Workspace): WatchedNames {
  return {
    entries: [...userFilesIn(path), ...code.watched()],
    links: places.unmade().map((place) => relative(path, place).split('/')),
  };
}

/** Node passes arguments as UTF-8. */
const canBeArgument = ({ names }: GitEntry): boolean => names.every((name) => name.isWellFormed());

interface Guarded {
  readonly workspace: Workspace;
  readonly record: GitRecord;
  readonly places: RecordPlaces;
}

/** `left`: what could not be moved. */
async function quarantineNew(
  { workspace, record, places }: Guarded,
  known: ReadonlyMap<string, GitEntry>,
): Promise<
  Pick<GitFindings, 'quarantined' | 'isPartial'> & Pick<GitEntries, 'unsearched'> & { left: readonly GitEntry[] }
> {
  const movedByOthers = record.movedByOthers();
  const isOwn = ({ names, id }: GitEntry): boolean => known.get(names.join('/'))?.id === id && !movedByOthers.has(id);
  const { found, isPartial, unsearched } = await findGitEntries(workspace.root, isOwn, watchedIn(workspace));
  const appeared = [...found.values()].filter((entry) => !isOwn(entry));
  // Before they are moved: a host that saw one must not take it for the user's own when a command has moved it back.
  tellOthers(workspace.path, places, { of: record, ids: appeared.map(({ id }) => id) });
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
        ? `[${path} is new, programs of the user would run what it names, and it could not be moved: do not run git or npx there]`
        : `[${path} was moved to ${movedTo}]`,
    ),
    ...(more === 0 ? [] : [`[${more} more were found]`]),
    ...(quarantined.length === 0 ? [] : [WHY_MOVED]),
    ...unsearched
      .slice(0, GIT_NOTES_MAX)
      .map((path) => `[${path} could not be searched for new git directories: do not run git or npx there]`),
    ...writable
      .slice(0, GIT_NOTES_MAX)
      .map((path) => `[${path} has a name that is not UTF-8 and was not read-only: a person must look at it]`),
    ...(isPartial ? [PARTIAL] : []),
  ];
}

const WHY_MOVED =
  '[A command must not leave a new repository (.git, .hg and the like), nor what `npx refold` or refold itself would follow, such as ' +
  'a .npmrc or a node in node_modules/.bin, and in a home directory no configuration of git, ssh or a shell, because programs ' +
  'of the user run commands that these name. ' +
  'A person who trusts it can move it back.]';
const PARTIAL =
  '[The workspace is too large to be searched for new git directories, or has the directories above: not all of it was ' +
  'searched and protected.]';
