// What every host tool is given and gives.
import type { JsonObject } from '../../schemas/json.ts';
import type { Commands } from './exec/commands.ts';
import type { Sandbox } from './exec/sandbox.ts';
import type { HostOutcome } from './outcome.ts';
import type { Redactor } from './redact.ts';
import type { Scratch } from './scratch.ts';
import type { HostSession } from './session.ts';
import type { Workspace } from './workspace/workspace.ts';

/** What the caller says about one call. */
export interface HostCallContext {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly outputBytesMax: number;
  readonly onProgress?: (text: string) => void;
}

/** What the tools of one host share. */
export interface HostParts {
  readonly workspace: Workspace;
  readonly session: HostSession;
  readonly sandbox: Sandbox;
  readonly commands: Commands;
  readonly scratch: Scratch;
  readonly redactor: Redactor;
  /** Where rg(1) is; null when it is not installed. */
  readonly ripgrep: string | null;
  readonly now: () => number;
}

/** May throw a `ToolFault`. File tools answer at once, so that no other call of the process comes in between. */
export type HostTool = (args: JsonObject, host: HostParts, call: HostCallContext) => HostOutcome | Promise<HostOutcome>;
