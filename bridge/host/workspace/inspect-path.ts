// host.fs.stat, host.fs.exists and host.fs.list_dir: report what exists, without file contents.
import { readdirSync, type Dirent, type Stats } from 'node:fs';
import type { JsonObject } from '../../../schemas/json.ts';
import { optionalCount, optionalText, requiredText } from '../arguments.ts';
import { RESULTS_DEFAULT, RESULTS_MAX } from '../../../schemas/limits.ts';
import { type HostOutcome, ToolFault, succeeded } from '../outcome.ts';
import type { HostParts } from '../tool.ts';
import { linkFault, lookUp, withDirectory } from './directory.ts';
import { type WorkspacePath, showPath } from './path-name.ts';
import { isTemporaryName } from './replace-file.ts';
import { type Workspace, missingFault, withParent } from './workspace.ts';

export function statTool(args: JsonObject, { workspace }: HostParts): HostOutcome {
  const path = workspace.parse(requiredText(args, 'path'));
  const stats = lookUpPath(workspace, path);
  if (stats === null) {
    throw new ToolFault('not_found', missingFault(path).message, { data: { path: path.shown, exists: false } });
  }
  const kind = kindOf(stats);
  const mtimeMs = Math.floor(stats.mtimeMs);
  return succeeded(`${path.shown}: ${kind}, ${stats.size} bytes, modified at ${mtimeMs} ms (Unix time)`, {
    path: path.shown,
    exists: true,
    kind,
    is_dir: stats.isDirectory(),
    size_bytes: stats.size,
    mtime_ms: mtimeMs,
  });
}

export function existsTool(args: JsonObject, { workspace }: HostParts): HostOutcome {
  const path = workspace.parse(requiredText(args, 'path'));
  const exists = lookUpPath(workspace, path) !== null;
  return succeeded(`${path.shown} ${exists ? 'exists' : 'does not exist'}.`, { path: path.shown, exists });
}

/** Names sorted by code unit; directories end in `/`, symbolic links in `@`. */
export function listDirTool(args: JsonObject, { workspace }: HostParts): HostOutcome {
  const path = workspace.parse(optionalText(args, 'path') ?? '.');
  const max = optionalCount(args, 'max_results', 1, RESULTS_MAX) ?? RESULTS_DEFAULT;
  const entries = withDirectory(workspace.root, path.names, (directory) =>
    readdirSync(directory.location, { withFileTypes: true }),
  );
  const names = entries.filter((entry) => !isTemporaryName(entry.name)).map(showEntry);
  names.sort((a, b) => (a < b ? -1 : 1));
  const shown = names.slice(0, max);
  const truncated = shown.length < names.length;
  const data = { path: path.shown, count: shown.length, total: names.length, truncated };
  if (names.length === 0) return succeeded(`${path.shown} is empty.`, data);
  const note = truncated ? `\n[${shown.length} of ${names.length} entries; raise max_results to see more]` : '';
  return succeeded(`${shown.join('\n')}${note}`, data);
}

// Null when the entry does not exist. A link is refused, as in every other tool.
function lookUpPath(workspace: Workspace, path: WorkspacePath): Stats | null {
  try {
    if (path.names.length === 0) return withDirectory(workspace.root, [], (root) => lookUp(root, '.'));
    const stats = withParent(workspace, path, (directory, name) => lookUp(directory, name));
    if (stats?.isSymbolicLink() === true) throw linkFault(path.shown);
    return stats;
  } catch (error) {
    if (error instanceof ToolFault && (error.code === 'not_found' || error.code === 'not_directory')) return null;
    throw error;
  }
}

function kindOf(stats: Stats): string {
  if (stats.isFile()) return 'file';
  return stats.isDirectory() ? 'directory' : 'special';
}

function showEntry(entry: Dirent): string {
  if (entry.isDirectory()) return `${showPath(entry.name)}/`;
  return entry.isSymbolicLink() ? `${showPath(entry.name)}@` : showPath(entry.name);
}
