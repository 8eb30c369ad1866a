// The executors of the host tools, one row for each tool id. Their specs (what the model sees) are the rows of
// src/toolsets/host-tools.ts. A function is named after its tool id without `host.` and `fs.`: `host.fs.read_file` runs
// `readFileTool`, `host.session.open` runs `sessionOpenTool`. test/toolsets/tool-executors.test.ts checks both.
import { editFileTool } from './edit/edit-file.ts';
import { execTool } from './exec/exec.ts';
import { applyPatchTool } from './patch/apply-patch.ts';
import { globTool } from './search/glob.ts';
import { grepTool } from './search/grep.ts';
import { sessionOpenTool, sessionSignalTool } from './session-tools.ts';
import type { HostTool } from './tool.ts';
import { existsTool, listDirTool, statTool } from './workspace/inspect-path.ts';
import { readFileTool } from './workspace/read-file.ts';
import { writeFileTool } from './workspace/write-file.ts';

export const HOST_TOOLS: ReadonlyMap<string, HostTool> = new Map<string, HostTool>(
  Object.entries({
    'host.session.open': sessionOpenTool,
    'host.session.signal': sessionSignalTool,
    'host.exec': execTool,
    'host.fs.read_file': readFileTool,
    'host.fs.list_dir': listDirTool,
    'host.fs.glob': globTool,
    'host.fs.grep': grepTool,
    'host.fs.stat': statTool,
    'host.fs.exists': existsTool,
    'host.fs.write_file': writeFileTool,
    'host.fs.edit_file': editFileTool,
    'host.fs.apply_patch': applyPatchTool,
  }),
);
