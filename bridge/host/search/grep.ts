// host.fs.grep: finds lines by pattern, as `path:line:text`, sorted by path and line. A pattern is a JavaScript regular
// expression, matched against each line. Files with a NUL byte near their start, files with several hard links and files
// above the size limit are not searched. `tree-files.ts` defines which directories are searched. Every file is opened through
// handles by this process. No faster program searches in its place: such a program opens files by path, and when a directory is
// replaced by a link meanwhile, its matches show what a file outside the workspace holds.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalCount, optionalFlag, optionalText, requiredText } from '../arguments.ts';
import {
  BINARY_PROBE_BYTES,
  FILE_BYTES_MAX,
  GREP_BATCH_BYTES,
  GREP_BATCH_FILES,
  RESULTS_DEFAULT,
  RESULTS_MAX,
} from '../../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { lookUp } from '../workspace/directory.ts';
import { type WorkspacePath, pathOf, showPath } from '../workspace/path-name.ts';
import { type Workspace, missingFault, readRange, withFile, withParent } from '../workspace/workspace.ts';
import { withDeadline } from './deadline.ts';
import { readGlob } from './glob.ts';
import { type LineMatcher, openMatcher } from './line-matcher.ts';
import { type Tree, filterFiles, listTree, truncationNote } from './tree-files.ts';

interface GrepQuery {
  readonly pattern: string;
  readonly base: WorkspacePath;
  readonly globFilter: string | undefined;
  readonly ignoreCase: boolean;
  readonly max: number;
}

export async function grepTool(args: JsonObject, host: HostParts, call: HostCallContext): Promise<HostOutcome> {
  const query: GrepQuery = {
    pattern: requiredText(args, 'pattern'),
    base: host.workspace.parse(optionalText(args, 'path') ?? '.'),
    globFilter: optionalText(args, 'glob_filter'),
    ignoreCase: optionalFlag(args, 'case_insensitive'),
    max: optionalCount(args, 'max_results', 1, RESULTS_MAX) ?? RESULTS_DEFAULT,
  };
  if (query.pattern === '') throw new ToolFault('invalid_regex', 'the pattern is empty; give a regular expression');
  return await withDeadline(call, (signal) => searchWorkspace(host, query, signal));
}

type Searched = Pick<HostParts, 'workspace' | 'redactor'>;

async function searchWorkspace(place: Searched, query: GrepQuery, signal: AbortSignal): Promise<HostOutcome> {
  const { workspace } = place;
  const matcher = openMatcher(query.pattern, query.ignoreCase, signal);
  try {
    const tree = await listSearched(workspace, query, signal);
    const { count, lines } = await matchFiles(place, tree.files, { query, matcher }, signal);
    const truncated = lines.length < count || tree.truncated;
    const data = { match_count: count, shown: lines.length, truncated };
    if (count === 0) return succeeded(`No matches found${truncationNote(tree)}`, data);
    const more =
      lines.length < count ? `\n[${lines.length} of ${count} matches; narrow the search or raise max_results]` : '';
    return succeeded(`${lines.join('\n')}${more}${truncationNote(tree)}`, data);
  } finally {
    await matcher.close();
  }
}

/** The files to search, as names from the workspace downwards. */
async function listSearched(workspace: Workspace, query: GrepQuery, signal: AbortSignal): Promise<Tree> {
  const { base, globFilter } = query;
  const filter = globFilter === undefined ? null : readGlob(globFilter, 'invalid_glob_filter');
  if (isFile(workspace, base)) return { files: [base.names], truncated: false };
  const tree = await listTree(workspace, base.names, signal);
  // A filter without a slash matches names at any depth; with one, it matches paths below the searched directory.
  const wanted =
    filter === null
      ? tree.files
      : await filterFiles(
          tree.files,
          (names) => filter.matches(filter.anchored ? names.join('/') : (names.at(-1) ?? '')),
          signal,
        );
  return { files: wanted.map((names) => [...base.names, ...names]), truncated: tree.truncated };
}

function isFile(workspace: Workspace, base: WorkspacePath): boolean {
  if (base.names.length === 0) return false;
  const stats = withParent(workspace, base, lookUp);
  if (stats === null) throw missingFault(base);
  // For a file named as `path`, a read fault is reported; within a tree, an unreadable file is only left out.
  if (!stats.isDirectory()) withFile(workspace, base, () => undefined);
  return !stats.isDirectory();
}

interface Matched {
  readonly count: number;
  readonly lines: readonly string[];
}

async function matchFiles(
  place: Searched,
  files: Tree['files'],
  { query, matcher }: { readonly query: GrepQuery; readonly matcher: LineMatcher },
  signal: AbortSignal,
): Promise<Matched> {
  const lines: string[] = [];
  let count = 0;
  for (let at = 0; at < files.length;) {
    const batch = readBatch(place, files, at);
    at = batch.next;
    const found = await matcher.match(batch.texts, query.max - lines.length);
    // A literal is matched without waiting, so without this pause no other call and no abort would run until the end.
    await nextTurn();
    signal.throwIfAborted();
    for (const [index, { count: inText, hits }] of found.entries()) {
      const path = showPath((batch.paths[index] ?? []).join('/'));
      for (const hit of hits) if (lines.length < query.max) lines.push(`${path}:${hit.line}:${hit.text}`);
      count += inText;
    }
  }
  return { count, lines };
}

interface Batch {
  readonly texts: readonly string[];
  readonly paths: Tree['files'];
  /** The index of the first file after this batch. */
  readonly next: number;
}

function readBatch(place: Searched, files: Tree['files'], start: number): Batch {
  const texts: string[] = [];
  const paths: (readonly string[])[] = [];
  let bytes = 0;
  let next = start;
  while (next < files.length && next - start < GREP_BATCH_FILES && bytes < GREP_BATCH_BYTES) {
    const names = files[next] as readonly string[];
    next += 1;
    const text = readSearched(place, names);
    if (text === null) continue;
    texts.push(text);
    paths.push(names);
    bytes += text.length;
  }
  return { texts, paths, next };
}

function readSearched({ workspace, redactor }: Searched, names: readonly string[]): string | null {
  try {
    return withFile(workspace, pathOf(names), ({ fd, stats }) => {
      if (stats.size > FILE_BYTES_MAX) return null;
      const bytes = readRange(fd, 0, stats.size);
      if (bytes.subarray(0, BINARY_PROBE_BYTES).includes(0)) return null;
      // Bytes that are not UTF-8 become replacement characters, so that the rest of the file can still match.
      // Before the search: a line may be cut in a secret, and no pattern may find out what it is.
      return redactor.window(bytes, 0, bytes.length).toString('utf8');
    });
  } catch (error) {
    if (error instanceof ToolFault) return null;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EACCES' || code === 'ENOENT' || code === 'EPERM') return null;
    throw error;
  }
}
