// The tools that read.ts and workflows.ts refer to, as data: which registered tool runs commands, which one does
// each read-only operation, and how it names its arguments. No code in reducers/ knows a host tool except through this
// table. The table is here, and not in src/toolsets or in the tool specs, because reducers import nothing above them
// and the specs are digested. A test checks every id and argument name against the preloaded host tools. It is part of
// rules 1 (docs/design.md, "Rules").
import { RESULTS_MAX } from '../../schemas/limits.ts';
import type { ShellReads } from '../rules/rule-set.ts';

export const SHELL_READS_1 = {
  commands: { effect_kind: 'host.exec', argumentList: 'argv', folder: 'cwd' },
  reads: {
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
  },
} as const satisfies ShellReads;

/** The parameters of each operation. */
export type ReadParameters<Operation extends keyof (typeof SHELL_READS_1)['reads']> =
  keyof (typeof SHELL_READS_1)['reads'][Operation]['names'];
