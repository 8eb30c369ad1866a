// Runs the command of a skill: in a copy of its files, with the arguments of the call as JSON on standard input. `SKILL_DIR` names the
// copy and `WORKSPACE` the workspace, which the command may change as every command may.
import type { JsonObject } from '../../../schemas/json.ts';
import { EXEC_TIMEOUT_MS_MAX } from '../../../schemas/limits.ts';
import type { TreeFile } from '../../../src/files/read-tree.ts';
import { type HostOutcome, ToolFault } from '../outcome.ts';
import type { HostCallContext, HostParts } from '../tool.ts';
import { childEnvironment } from './child-environment.ts';
import { runCall } from './exec.ts';
import { isProgram } from './find-program.ts';
import { copyFolder } from './folder-copy.ts';

export interface SkillRun {
  /** The program and its arguments. A program with a slash lies in the files. */
  readonly argv: readonly string[];
  /** The files of the skill, as they were compared. */
  readonly files: readonly TreeFile[];
  /** The arguments of the call. */
  readonly args: JsonObject;
}

export async function runSkillCommand(
  { argv, files, args }: SkillRun,
  host: HostParts,
  context: HostCallContext,
): Promise<HostOutcome> {
  const [program = ''] = argv;
  if (!program.includes('/') && !isProgram(program))
    throw new ToolFault(
      'spawn_failed',
      `the program "${program}" of the skill is not installed; a person must install it`,
    );
  const copy = copyFolder(host.scratch.commandFiles, files, host.sandbox.identity);
  try {
    const call = {
      argv,
      cwd: host.workspace.parse('.'),
      folder: copy.path,
      environment: childEnvironment({ SKILL_DIR: copy.path, WORKSPACE: host.workspace.path }),
      stdin: JSON.stringify(args),
      timeoutMs: Math.min(Math.max(1, Math.floor(context.timeoutMs)), EXEC_TIMEOUT_MS_MAX),
    };
    return await runCall(call, host, context);
  } finally {
    copy.remove();
  }
}
