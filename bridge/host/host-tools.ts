// The host of one bridge process: the twelve tools that touch a workspace and run commands in it. A call is checked
// for its session, run, and its answer made safe to send: secrets replaced, well formed, never empty, cut to size.
import type { JsonObject } from '../../schemas/json.ts';
import { OUTPUT_BYTES_DEFAULT } from '../../schemas/limits.ts';
import { editFile } from './edit/edit-file.ts';
import { type Commands, createCommands } from './exec/commands.ts';
import { exec } from './exec/exec.ts';
import { type SandboxLevel, openSandbox } from './exec/sandbox.ts';
import { fitOutcome } from './fit-outcome.ts';
import { type HostOutcome, type HostSessionFacts, ToolFault, failed } from './outcome.ts';
import { applyPatch } from './patch/apply-patch.ts';
import { recoverPatches } from './patch/recover-patches.ts';
import { createRedactor } from './redact.ts';
import { openScratch } from './scratch.ts';
import { glob } from './search/glob.ts';
import { grep } from './search/grep.ts';
import { findRipgrep } from './search/ripgrep.ts';
import { openSession, signalSession } from './session-tools.ts';
import { createSession } from './session.ts';
import type { HostCallContext, HostParts, HostTool } from './tool.ts';
import { listDirectory, pathExists, statPath } from './workspace/inspect-path.ts';
import { readFile } from './workspace/read-file.ts';
import { type RestorableFile, restoreFiles } from './undo/restore-files.ts';
import { openWorkspace } from './workspace/workspace.ts';
import { writeFile } from './workspace/write-file.ts';

export type { HostOutcome } from './outcome.ts';
export type { HostCallContext } from './tool.ts';

export interface Host {
  /** Level in force, probed at creation. */
  readonly sandbox: SandboxLevel;
  /** One line for people: which level, which user, and why. */
  readonly sandboxNote: string;
  /** Never rejects: whatever goes wrong is an outcome with `success: false`. */
  run(toolId: string, args: JsonObject, context: HostCallContext): Promise<HostOutcome>;
  /** Puts files back, all or none. Never rejects. It needs no host session: it is asked for by a person. */
  restore(files: readonly RestorableFile[]): HostOutcome;
  has(toolId: string): boolean;
  /** Ends what still runs and removes the host's temporary files, spilled outputs too. */
  close(): Promise<void>;
}

export interface HostOptions {
  readonly workspace: string;
  /** Default `auto`: the best that works. Asking for `bwrap` where it does not work makes opening fail. */
  readonly sandbox?: 'auto' | SandboxLevel;
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** Values that never leave the host; outputs have `‹secret›` in their place. */
  readonly secrets?: readonly string[];
  /** The host's own directory, outside of the workspace. The same one next time lets it finish broken patches. */
  readonly tempDir?: string;
  /** As whom commands run when the host runs as root. Default: the workspace's owner, else nobody. */
  readonly sandboxUid?: number;
}

/** Opens a workspace, finishing the patches that an earlier process left half written there. */
export function openHost(options: HostOptions): Promise<Host> {
  // Everything here is synchronous; the promise carries its errors.
  return new Promise((answer) => answer(createHost(openParts(options))));
}

const tools: ReadonlyMap<string, HostTool> = new Map<string, HostTool>([
  ['host.session.open', openSession],
  ['host.session.signal', signalSession],
  ['host.exec', exec],
  ['host.fs.read_file', readFile],
  ['host.fs.write_file', writeFile],
  ['host.fs.edit_file', editFile],
  ['host.fs.apply_patch', applyPatch],
  ['host.fs.grep', grep],
  ['host.fs.glob', glob],
  ['host.fs.stat', statPath],
  ['host.fs.exists', pathExists],
  ['host.fs.list_dir', listDirectory],
]);

function openParts(options: HostOptions): HostParts {
  const workspace = openWorkspace(options.workspace);
  try {
    const sandbox = openSandbox(workspace, { wanted: options.sandbox ?? 'auto', sandboxUid: options.sandboxUid });
    const scratch = openScratch(workspace.path, options.tempDir);
    recoverPatches(workspace, scratch.patches);
    return {
      workspace,
      sandbox,
      scratch,
      session: createSession(options.now, { sandbox: sandbox.level, workspace: workspace.path }),
      commands: createCommands(),
      redactor: createRedactor(options.secrets ?? []),
      ripgrep: findRipgrep(workspace.path),
      now: options.now,
    };
  } catch (error) {
    workspace.close();
    throw error;
  }
}

function createHost(parts: HostParts): Host {
  let closing: Promise<void> | undefined;
  return {
    sandbox: parts.sandbox.level,
    sandboxNote: parts.sandbox.note,
    has: (toolId) => tools.has(toolId),
    async run(toolId, args, context) {
      const outcome = await attempt(toolId, args, context, { parts, closed: closing !== undefined });
      return fitOutcome(outcome, context.outputBytesMax, parts);
    },
    restore: (files) => fitOutcome(restored(parts, files, closing !== undefined), OUTPUT_BYTES_DEFAULT, parts),
    close() {
      closing ??= closeParts(parts, parts.commands);
      return closing;
    },
  };
}

async function attempt(
  toolId: string,
  args: JsonObject,
  context: HostCallContext,
  { parts, closed }: { readonly parts: HostParts; readonly closed: boolean },
): Promise<HostOutcome> {
  try {
    if (closed) throw new ToolFault('host_closed', 'the host is closed; the call was not run');
    const tool = tools.get(toolId);
    if (tool === undefined) throw new ToolFault('unknown_tool', `this host has no tool ${JSON.stringify(toolId)}`);
    if (context.signal.aborted) throw new ToolFault('cancelled', 'the call was cancelled before it started');
    const adopted: HostSessionFacts | null = toolId === 'host.session.open' ? null : parts.session.use();
    const outcome = await settled(tool, args, parts, context);
    return adopted === null ? outcome : { hostSession: adopted, ...outcome };
  } catch (error) {
    return failed(error);
  }
}

function restored({ workspace, scratch }: HostParts, files: readonly RestorableFile[], closed: boolean): HostOutcome {
  try {
    if (closed) throw new ToolFault('host_closed', 'the host is closed; nothing was put back');
    return restoreFiles({ workspace, journal: scratch.patches }, files);
  } catch (error) {
    return failed(error);
  }
}

/** The tool's outcome, also when it throws: an adopted session is a fact whatever became of the call. */
async function settled(
  tool: HostTool,
  args: JsonObject,
  parts: HostParts,
  context: HostCallContext,
): Promise<HostOutcome> {
  try {
    return await tool(args, parts, context);
  } catch (error) {
    return failed(error);
  }
}

async function closeParts({ scratch, workspace }: HostParts, commands: Commands): Promise<void> {
  await commands.close();
  scratch.close();
  workspace.close();
}
