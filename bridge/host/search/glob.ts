// host.fs.glob: finds files by name, sorted by path.
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalCount, optionalText, requiredText } from '../arguments.ts';
import { RESULTS_DEFAULT, RESULTS_MAX } from '../../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { showPath } from '../workspace/path-name.ts';
import { withDeadline } from './deadline.ts';
import { type GlobPattern, compileGlob } from './glob-pattern.ts';
import { filterFiles, listTree, truncationNote } from './tree-files.ts';

export async function globTool(
  args: JsonObject,
  { workspace }: HostParts,
  call: HostCallContext,
): Promise<HostOutcome> {
  const pattern = readGlob(requiredText(args, 'pattern'), 'invalid_pattern');
  const base = workspace.parse(optionalText(args, 'path') ?? '.');
  const max = optionalCount(args, 'max_results', 1, RESULTS_MAX) ?? RESULTS_DEFAULT;
  const { tree, found } = await withDeadline(call, async (signal) => {
    const all = await listTree(workspace, base.names, signal);
    return { tree: all, found: await filterFiles(all.files, (names) => pattern.matches(names.join('/')), signal) };
  });
  const shown = found.slice(0, max).map((names) => showPath([...base.names, ...names].join('/')));
  const truncated = shown.length < found.length || tree.truncated;
  const data = { count: shown.length, total: found.length, truncated };
  if (found.length === 0) return succeeded(`No files matched${truncationNote(tree)}`, data);
  const more =
    shown.length < found.length ? `\n[${shown.length} of ${found.length} files; raise max_results to see more]` : '';
  return succeeded(`${shown.join('\n')}${more}${truncationNote(tree)}`, data);
}

export function readGlob(pattern: string, code: string): GlobPattern {
  try {
    return compileGlob(pattern);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new ToolFault(code, `${error.message}; correct the pattern and call again`);
  }
}
