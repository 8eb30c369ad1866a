// The host of one bridge process: it runs the host tools in one workspace. For each call it checks the host session, runs
// the tool, and makes the outcome safe to send: secrets replaced, text well formed, not empty and cut to the allowed size.
import type { JsonObject } from '../../schemas/json.ts';
import { MESSAGE_CHARS_MAX, OUTPUT_BYTES_DEFAULT } from '../../schemas/limits.ts';
import { brand } from '../../schemas/ids.ts';
import type { NoPreview } from '../../schemas/consent.ts';
import type { HostPlace, HostSessionFacts, SandboxLevel } from '../../schemas/tool-set.ts';
import { createRunningCommands } from './exec/running-commands.ts';
import { openSandbox } from './exec/sandbox.ts';
import { type SkillRun, runSkillCommand } from './exec/skill-command.ts';
import { fitOutcome } from './fit-outcome.ts';
import { openGitGuard, recoverGit, unguarded } from './git/git-guard.ts';
import type { Quarantined } from './git/quarantine.ts';
import { createHostSessions } from './host-session.ts';
import { HOST_TOOLS } from './host-tools.ts';
import { type HostOutcome, ToolFault, failed } from './outcome.ts';
import { recoverPatches, recoveryNotes } from './patch/recover-patches.ts';
import { HOST_PREVIEWS, type HostPreview, previewChanges } from './preview/host-previews.ts';
import { refuseChanged } from './preview/previewed-files.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { type Scratch, openScratch } from './scratch.ts';
import type { HostCallContext, HostParts, HostTool } from './tool.ts';
import { type RestorableFile, restoreFiles } from './undo/restore-files.ts';
import { refuseOwnCode } from './workspace/own-code.ts';
import { type Workspace, openWorkspace } from './workspace/workspace.ts';

export interface Host {
  /** The sandbox level in force, probed when the host opens. */
  readonly sandbox: SandboxLevel;
  /** One line for people: the level, the user that commands run as, and the reason. */
  readonly sandboxNote: string;
  /** True when nothing keeps commands from what the host's own user can read, its token too. */
  readonly commandsShareUser: boolean;
  /** Where calls run: each start states it, so that nothing runs here that was allowed elsewhere. */
  readonly place: HostPlace;
  /** Names the workspace: an undo is done only where the name is the one that its call recorded. */
  readonly workspaceName: string;
  /** Git directories that appeared while the last commands of a killed host ran, and were moved when this one opened. */
  readonly gitQuarantined: readonly Quarantined[];
  /** What a person should know of the patches that a killed host left half written. */
  readonly recoveryNotes: readonly string[];
  /** Never rejects: every failure is an outcome with `success: false`. */
  run(toolId: string, args: JsonObject, context: HostCallContext): Promise<HostOutcome>;
  /**
   * What a call of a file tool would change; writes nothing. Never throws. It needs no host session, because it is shown to the
   * person who is asked about the call.
   */
  preview(toolId: string, args: JsonObject): HostPreview | NoPreview;
  /**
   * Runs the command of a skill in the sandbox, in a copy of its files that the command cannot write there. Never rejects. It
   * needs a host session, as every command does.
   */
  runSkill(command: SkillRun, context: HostCallContext): Promise<HostOutcome>;
  /** Puts files back, all or none. Never throws. It needs no host session, because a person asks for it. */
  restore(files: readonly RestorableFile[]): HostOutcome;
  /** Whether the host has a tool of this id. */
  has(toolId: string): boolean;
  /** Ends the commands that still run and removes the host's temporary files, including spilled outputs. */
  close(): Promise<void>;
}

export interface HostOptions {
  /** The directory that the tools read and change. */
  readonly workspace: string;
  /**
   * Default `auto`: `bwrap` where it works, else `none`, but only where commands then run as another user than the host.
   * Opening fails where that cannot be had, and with `bwrap` where bwrap does not work.
   */
  readonly sandbox?: 'auto' | SandboxLevel;
  /** False for a host that only puts files back: it needs no sandbox. */
  readonly runsCommands?: boolean;
  /** Unix time in milliseconds. */
  readonly now: () => number;
  /** Values that must not leave the host; outputs have `‹secret›` in place of each that has at least 16 characters. */
  readonly secrets?: readonly string[];
  /** The host's own directory, outside the workspace. Give the same one again to finish patches after a crash. */
  readonly tempDir?: string;
  /**
   * Where the host notes what the next one must finish or undo if this one is killed; no tool may use it. Default: `tempDir`
   * where that is given, else `refold/hosts` in the user's state directory (`$XDG_STATE_HOME`, or `~/.local/state`). Where
   * that lies in the workspace, it is the system's temporary directory, which may not survive a restart: name one.
   */
  readonly stateDir?: string;
  /** The uid that commands run as when the host runs as root. Default: the workspace's owner, else the user `nobody`. */
  readonly sandboxUid?: number;
  /**
   * Further directories and files that no tool may read or write. The workspace must not lie in one. Protected without being
   * named: the data directories and ledgers that this process opens, before or after the host, and data directories of other
   * processes that the tools meet.
   */
  readonly protect?: readonly string[];
  /** Names the workspace. Default: made from the machine, the path and the inode, so that a copy has another name. */
  readonly workspaceName?: string | undefined;
}

/** Opens a workspace, and finishes or rolls back the patches that an earlier process left half written there. */
export async function openHost(options: HostOptions): Promise<Host> {
  const { tempDir, stateDir, workspaceName } = options;
  const protect = [...(options.protect ?? []), ...(stateDir === undefined ? [] : [stateDir])];
  const workspace = openWorkspace(options.workspace, { protect, name: workspaceName });
  let scratch: Scratch | undefined;
  try {
    scratch = openScratch(workspace.path, { tempDir, stateDir });
    await scratch.sync();
    // Before the own code is read: no command of a killed host may have chosen what it is.
    const gitQuarantined = await recoverGit(workspace, scratch.gitRecords);
    const parts = openParts(options, workspace, scratch);
    return createHost(parts, recoveryNotes(recoverPatches(workspace, scratch.patches)), gitQuarantined);
  } catch (error) {
    scratch?.close();
    workspace.close();
    throw error;
  }
}

function openParts(options: HostOptions, workspace: Workspace, scratch: Scratch): HostParts {
  refuseOwnCode(workspace.path);
  const { sandbox: wanted = 'auto', sandboxUid, runsCommands = true } = options;
  const sandbox = openSandbox(workspace, { wanted, sandboxUid, runsCommands });
  const place = {
    sandbox: sandbox.level,
    workspace: workspace.path,
    workspace_name: brand<'WorkspaceName'>(workspace.name),
    ...(sandbox.sharesUser ? { commands_share_user: true } : {}),
  };
  return {
    workspace,
    sandbox,
    scratch,
    place,
    sessions: createHostSessions(options.now, place),
    commands: createRunningCommands(),
    gitGuard: sandbox.level === 'none' ? unguarded : openGitGuard(workspace, scratch.gitRecords),
    redactor: createRedactor(options.secrets ?? []),
    now: options.now,
  };
}

function createHost(parts: HostParts, notes: readonly string[], gitQuarantined: readonly Quarantined[]): Host {
  let closing: Promise<void> | undefined;
  return {
    sandbox: parts.sandbox.level,
    sandboxNote: parts.sandbox.note,
    commandsShareUser: parts.sandbox.sharesUser,
    gitQuarantined,
    recoveryNotes: notes,
    place: parts.place,
    workspaceName: parts.workspace.name,
    has: (toolId) => HOST_TOOLS.has(toolId),
    async run(toolId, args, context) {
      const tool = HOST_TOOLS.get(toolId);
      const opens = toolId === 'host.session.open';
      if (tool === undefined) return fitOutcome(failed(unknownTool(toolId)), context.outputBytesMax, parts);
      const work = (): Promise<HostOutcome> => runTool(tool, args, parts, context);
      const outcome = await runChecked(work, context, { parts, opens, closed: closing !== undefined });
      return fitOutcome(outcome, context.outputBytesMax, parts);
    },
    async runSkill(command, context) {
      const tool: HostTool = () => runSkillCommand(command, parts, context);
      const work = (): Promise<HostOutcome> => runTool(tool, {}, parts, context);
      const outcome = await runChecked(work, context, { parts, opens: false, closed: closing !== undefined });
      return fitOutcome(outcome, context.outputBytesMax, parts);
    },
    preview: (toolId, args) => preview(parts, toolId, args, closing !== undefined),
    restore: (files) => fitOutcome(restore(parts, files, closing !== undefined), OUTPUT_BYTES_DEFAULT, parts),
    close() {
      closing ??= closeParts(parts);
      return closing;
    },
  };
}

const unknownTool = (toolId: string): ToolFault =>
  new ToolFault('unknown_tool', `this host has no tool ${JSON.stringify(toolId)}`);

/** Uses the host session for the work, unless the work opens it. */
async function runChecked(
  work: () => Promise<HostOutcome>,
  context: HostCallContext,
  { parts, opens, closed }: { readonly parts: HostParts; readonly opens: boolean; readonly closed: boolean },
): Promise<HostOutcome> {
  try {
    if (closed) throw new ToolFault('host_closed', 'the host is closed; the call did not run');
    if (context.signal.aborted) throw new ToolFault('cancelled', 'the call was cancelled before it started');
    const adopted: HostSessionFacts | null = opens ? null : parts.sessions.of(context.sessionId).use();
    const outcome = await work();
    return adopted === null ? outcome : { hostSession: adopted, ...outcome };
  } catch (error) {
    return failed(error);
  }
}

function preview(parts: HostParts, toolId: string, args: JsonObject, closed: boolean): HostPreview | NoPreview {
  try {
    if (closed) throw new ToolFault('host_closed', 'the host is closed; nothing was looked at');
    const stage = HOST_PREVIEWS.get(toolId);
    if (stage === undefined) throw new ToolFault('no_preview', `the host makes no previews of calls of "${toolId}"`);
    return previewChanges(stage(args, parts), parts);
  } catch (error) {
    const { code = 'preview_failed', text } = failed(error);
    return { code, message: parts.redactor.text(text).slice(0, MESSAGE_CHARS_MAX).toWellFormed() };
  }
}

function restore({ workspace, scratch }: HostParts, files: readonly RestorableFile[], closed: boolean): HostOutcome {
  try {
    if (closed) throw new ToolFault('host_closed', 'the host is closed; no file was put back');
    return restoreFiles({ workspace, manifests: scratch.patches }, files);
  } catch (error) {
    return failed(error);
  }
}

/** The tool's outcome, also when the tool throws: an adopted session must be reported even if the call fails. */
async function runTool(
  tool: HostTool,
  args: JsonObject,
  parts: HostParts,
  context: HostCallContext,
): Promise<HostOutcome> {
  try {
    refuseChanged(parts.workspace, context.previewed);
    return await tool(args, parts, context);
  } catch (error) {
    return failed(error);
  }
}

async function closeParts({ scratch, workspace, commands, gitGuard }: HostParts): Promise<void> {
  await commands.close();
  await gitGuard.idle();
  scratch.close();
  workspace.close();
}
