// The signature of a host tool, and what every call of one receives.
import type { PreviewedFiles } from '../../schemas/consent.ts';
import type { HostPlace } from '../../schemas/tool-set.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { RunningCommands } from './exec/running-commands.ts';
import type { Sandbox } from './exec/sandbox.ts';
import type { GitGuard } from './git/git-guard.ts';
import type { HostOutcome } from './outcome.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Scratch } from './scratch.ts';
import type { HostSessions } from './host-session.ts';
import type { Workspace } from './workspace/workspace.ts';

/** The caller's limits for one call. */
export interface HostCallContext {
  /** The session of the engine that the call belongs to. */
  readonly sessionId: string;
  /** Aborts when the call is cancelled or its time is over. */
  readonly signal: AbortSignal;
  /** How long the call may take, in milliseconds. */
  readonly timeoutMs: number;
  /** The most bytes of UTF-8 that the model reads of the output. */
  readonly outputBytesMax: number;
  /** The files of the preview with which the call was allowed: the call changes nothing when one of them is different now. */
  readonly previewed?: PreviewedFiles;
  /** Called with lines that say how far the call is. */
  readonly onProgress?: (text: string) => void;
}

/** What all tools of one host share. */
export interface HostParts {
  readonly workspace: Workspace;
  /** What it reports of where calls run. */
  readonly place: HostPlace;
  readonly sessions: HostSessions;
  readonly sandbox: Sandbox;
  readonly commands: RunningCommands;
  readonly gitGuard: GitGuard;
  readonly scratch: Scratch;
  readonly redactor: Redactor;
  readonly now: () => number;
}

/** May throw a `ToolFault`. A tool that reads or writes single files is synchronous: no other call runs in between. */
export type HostTool = (args: JsonObject, host: HostParts, call: HostCallContext) => HostOutcome | Promise<HostOutcome>;
