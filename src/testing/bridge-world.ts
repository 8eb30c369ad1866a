// All that a simulated bridge may touch: whatever it does passes through here, and so can be cut off, delayed and
// watched. A bridge that reads another clock, draws its own random numbers or opens a socket cannot be simulated.
import type { Digest, OwnerId, SessionId } from '../../schemas/ids.ts';
import type { EffectOfKind, OfferedTool } from '../../schemas/effect.ts';
import type { RunId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { Usage } from '../../schemas/run.ts';
import type { FileChange } from '../../schemas/undo.ts';
import type { EngineClient } from '../client/client.ts';
import type { BridgeClock } from '../clock.ts';

/** One message of the conversation, as a model is shown it. `arguments` is the text the model wrote. */
export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
    }
  | {
      readonly role: 'tool';
      readonly call_id: string;
      readonly name: string;
      readonly text: string;
      readonly is_error: boolean;
    };

/** What a model is asked: the tools it is offered and the whole conversation, every call with its result. */
export interface ModelRequest {
  readonly session_id: SessionId;
  readonly run_id: RunId;
  /** Counts from 1 in each run. */
  readonly turn: number;
  readonly tools: readonly OfferedTool[];
  readonly messages: readonly ModelMessage[];
}

/** What a model answers: text, calls, or both. Without calls its turn is over. */
export interface ModelReply {
  readonly content?: string;
  readonly calls: readonly { readonly id?: string; readonly name: string; readonly arguments?: JsonObject }[];
  /** The tokens it took. */
  readonly usage?: Usage;
}

export interface Model {
  /** Throws when there is no answer. */
  generate(request: ModelRequest, signal: AbortSignal): Promise<ModelReply>;
}

/** What a tool says came of a call. `text` is what the model reads; `code` says in one word why it failed. */
export interface ToolAnswer {
  readonly success: boolean;
  readonly text: string;
  readonly code?: string;
  /** It failed for a reason that may pass: a repeatable call is tried again. */
  readonly retryable?: boolean;
  /** The files it changed, to be recorded with the call's end. */
  readonly changes?: readonly FileChange[];
}

/** A file to put back, with the bytes that stood there before; null where there was none. */
export interface FileBefore extends Pick<FileChange, 'path' | 'after_digest'> {
  readonly before: Uint8Array | null;
}

/** Which call a tool runs, and which attempt of it: the one that is owed, if nobody says. */
export type ToolTarget = Pick<EffectOfKind<'tool.call'>, 'session_id' | 'call_id' | 'tool_id'> &
  Partial<Pick<EffectOfKind<'tool.call'>, 'attempt'>>;

/** The files of one machine, in one folder. */
export interface MachineFiles {
  names(): Promise<readonly string[]>;
  /** Empty when there is none of this name. */
  read(name: string): Promise<Uint8Array>;
  /** A file of these bytes, durable when it answers, in the place of any other of this name; to be appended to. */
  create(name: string, bytes: Uint8Array): Promise<MachineFile>;
  /** False when there is none of this name. */
  rename(from: string, to: string): Promise<boolean>;
  remove(name: string): Promise<void>;
}

export interface MachineFile {
  append(bytes: Uint8Array): Promise<void>;
  /** What was appended outlives the process. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface BridgeWorld {
  readonly client: EngineClient;
  /** Names this process to the engine; another in each life. */
  readonly owner: OwnerId;
  readonly clock: BridgeClock;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** What outlives this process, for it and for others of the same machine; null where nothing may be kept. */
  readonly files: MachineFiles | null;
  /** Whether the bridge of this name, on the same machine, is still there. */
  readonly isAlive: (owner: string) => boolean;
  /** Aborts when the bridge is told to stop. One that crashes is told nothing. */
  readonly signal: AbortSignal;
  readonly model: Model;
  /** What to lease: tool ids, exact or with a closing `*`. */
  readonly tools: readonly string[];
  /** Runs a tool. May throw, and may be slow to heed the signal. Without `putBlob` much that it changes is not kept. */
  readonly runTool: (
    target: ToolTarget,
    args: JsonObject,
    context: { readonly signal: AbortSignal; readonly putBlob?: (bytes: Uint8Array) => Promise<Digest> },
  ) => Promise<ToolAnswer>;
  /** Puts files back that a call has changed, all or none. Nobody wants anything undone of bridges that lease no undo. */
  readonly restore: (files: readonly FileBefore[]) => ToolAnswer;
}

/** Serves sessions until its signal aborts. Throws only when it cannot go on: that is a fault. */
export type SimulatedBridge = (world: BridgeWorld) => Promise<void>;
