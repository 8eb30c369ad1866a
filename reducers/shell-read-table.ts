// The tools that shell-read.ts and workflows.ts refer to, as data: which registered tool runs commands, which one does
// each read-only operation, and how it names its arguments. No code in reducers/ knows a host tool except through this
// table. The table is here, and not in src/toolsets or in the tool specs, because reducers import nothing above them
// and the specs are digested. A test checks every id and argument name against the preloaded host tools.
import type { JsonObject } from '../schemas/json.ts';
import { RESULTS_MAX } from '../schemas/limits.ts';

/** The tools that run a command, by the kind of their effect, and the arguments that hold the command. */
export const COMMAND_TOOLS = { effect_kind: 'host.exec', argumentList: 'argv', folder: 'cwd' } as const;

interface ReadTool {
  readonly tool_id: string;
  /** The tool's own name for each parameter of the operation. */
  readonly names: Readonly<Record<string, string>>;
  /** Arguments that every call gets. */
  readonly fixed: JsonObject;
}

export const READ_TOOLS = {
  readText: { tool_id: 'host.fs.read_file', names: { path: 'path', bytesMax: 'max_bytes' }, fixed: {} },
  readSize: { tool_id: 'host.fs.stat', names: { path: 'path' }, fixed: {} },
  listFolder: { tool_id: 'host.fs.list_dir', names: { path: 'path' }, fixed: { max_results: RESULTS_MAX } },
  findFiles: {
    tool_id: 'host.fs.glob',
    names: { pattern: 'pattern', path: 'path' },
    fixed: { max_results: RESULTS_MAX },
  },
  searchText: {
    tool_id: 'host.fs.grep',
    names: { pattern: 'pattern', path: 'path', fileGlob: 'glob_filter', ignoreCase: 'case_insensitive' },
    fixed: { max_results: RESULTS_MAX },
  },
} as const satisfies Readonly<Record<string, ReadTool>>;

export type ReadOperation = keyof typeof READ_TOOLS;

/** What `findFiles` and `searchText` skip; a command would not. */
export const SKIPPED_IN_WALKS = 'what lies in .git and node_modules, and what a symbolic link leads to, is left out';
