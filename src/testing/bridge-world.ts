// Everything that a simulated bridge may use. The simulator can cut off, delay and observe each of these ports. A bridge
// that uses another clock or random source, or opens a socket, cannot be simulated.
import type { Digest, OwnerId, SessionId } from '../../schemas/ids.ts';
import type { EffectOfKind, OfferedTool } from '../../schemas/effect.ts';
import type { RunId } from '../../schemas/ids.ts';
import type { JsonObject } from '../../schemas/json.ts';
import type { LayoutApi, LayoutPart, Stop } from '../../schemas/model-turn.ts';
import type { Usage } from '../../schemas/run.ts';
import type { FileChange } from '../../schemas/undo.ts';
import type { NoPreview, PreviewedFiles } from '../../schemas/consent.ts';
import type { CallQuestion, CallResume, ElicitationAnswer } from '../../schemas/elicitation.ts';
import type { EngineClient } from '../client/client.ts';
import type { BridgeClock } from '../clock.ts';

/** One message of the conversation as the model reads it. `arguments` is the text that the model wrote. */
export type ModelMessage =
  | { readonly role: 'user'; readonly text: string }
  | {
      readonly role: 'assistant';
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[];
      /** As the model gave it with the turn. */
      readonly layout?: ModelLayout;
    }
  | {
      readonly role: 'tool';
      readonly call_id: string;
      readonly name: string;
      readonly text: string;
      readonly is_error: boolean;
    };

/** The parts of a turn in the order of the API of the model. */
export interface ModelLayout {
  readonly api: LayoutApi;
  readonly model: string;
  readonly parts: readonly LayoutPart[];
}

/** A request to a model: the offered tools and the whole conversation, every call with its result. */
export interface ModelRequest {
  readonly session_id: SessionId;
  readonly run_id: RunId;
  /** Counts from 1 in each run. */
  readonly turn: number;
  readonly tools: readonly OfferedTool[];
  readonly messages: readonly ModelMessage[];
}

/** The answer of a model: text, calls, or both. An answer without calls ends the turn. */
export interface ModelReply {
  readonly content?: string;
  readonly calls: readonly { readonly id?: string; readonly name: string; readonly arguments?: JsonObject }[];
  /** The tokens that it used. */
  readonly usage?: Usage;
  /** Why it stopped, if it says so. */
  readonly stop?: Stop;
  readonly layout?: ModelLayout;
}

/** What a model has written since it told so last. */
export interface ModelDelta {
  readonly kind: 'text' | 'thinking';
  readonly text: string;
}

export interface Model {
  /**
   * Throws when there is no answer: a {@link ModelError} when the model says why. A request without tools asks for a summary
   * of the conversation in its one message.
   */
  generate(request: ModelRequest, signal: AbortSignal, onDelta?: (delta: ModelDelta) => void): Promise<ModelReply>;
}

/** Why a model gave no answer: the conversation is too long, or it will answer later. Other errors are final. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
  readonly code: 'context_length' | 'provider_retryable';

  constructor(code: ModelError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/** The result of a call as the tool reports it. The model reads `text`; `code` names the failure in one word. */
export interface ToolAnswer {
  readonly success: boolean;
  readonly text: string;
  readonly code?: string;
  /** The failure is transient: a repeatable call is retried. */
  readonly retryable?: boolean;
  /** The files that the call changed, recorded with its result. */
  readonly changes?: readonly FileChange[];
}

/** A question with which an attempt of a call ends: the next one gets `state`, unchanged, and the answer. */
export interface ToolQuestion {
  readonly ask: CallQuestion;
  readonly state: string;
}

/** What an attempt of a call goes on with: what the one before noted, or the state and the answer to the question it left. */
export interface ToolResume extends Pick<CallResume, 'handle' | 'answer'> {
  readonly state?: string;
}

/** What a call would do, without its being done: lines for people, and every file that it would change; or why not. */
export type ToolPreview = { readonly diff: string; readonly files: PreviewedFiles } | NoPreview;

/** A file to restore, with its bytes before the change; null when it did not exist. */
export interface FileBefore extends Pick<FileChange, 'path' | 'after_digest'> {
  readonly before: Uint8Array | null;
}

/** The call that a tool runs, and its attempt; when absent, the attempt that is owed. */
export type ToolTarget = Pick<EffectOfKind<'tool.call'>, 'session_id' | 'call_id' | 'tool_id'> &
  Partial<Pick<EffectOfKind<'tool.call'>, 'attempt'>>;

/** The files of one machine, in one folder. */
export interface MachineFiles {
  names(): Promise<readonly string[]>;
  /** Empty when there is no file of this name. */
  read(name: string): Promise<Uint8Array>;
  /** Creates a file of these bytes, or replaces the one of this name, and opens it to append. Durable when it resolves. */
  create(name: string, bytes: Uint8Array): Promise<MachineFile>;
  /** False when there is no file of this name. */
  rename(from: string, to: string): Promise<boolean>;
  remove(name: string): Promise<void>;
}

export interface MachineFile {
  append(bytes: Uint8Array): Promise<void>;
  /** Makes what was appended durable. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface BridgeWorld {
  readonly client: EngineClient;
  /** The name of this process to the engine; a restarted bridge has another one. */
  readonly owner: OwnerId;
  readonly clock: BridgeClock;
  /** Returns a number from 0 to below 1. */
  readonly random: () => number;
  /** Files that outlive this process, shared by the bridges of the machine; null when nothing may be kept. */
  readonly files: MachineFiles | null;
  /** Whether the bridge of this name, on the same machine, is still alive. */
  readonly isAlive: (owner: string) => boolean;
  /** Aborts when the bridge must stop. A crash does not abort it. */
  readonly signal: AbortSignal;
  readonly model: Model;
  /** The tools to lease: exact tool ids, or prefixes that end in `*`. */
  readonly tools: readonly string[];
  /**
   * Runs a tool. It may throw and may react late to the signal. Without `putBlob` changed files cannot be undone. When one of
   * the `previewed` files of its effect is different now, it changes nothing and fails as `changed_since_preview`. `resume`: that
   * of its effect. `note` records a handle, and says whether it is recorded; `ask` puts a question, and resolves to its answer.
   * Without them, nothing is noted or asked so. Some tools end an attempt with a question.
   */
  readonly runTool: (
    target: ToolTarget,
    args: JsonObject,
    context: {
      readonly signal: AbortSignal;
      readonly putBlob?: (bytes: Uint8Array) => Promise<Digest>;
      readonly previewed?: PreviewedFiles;
      readonly resume?: ToolResume;
      readonly note?: (handle: string) => Promise<boolean>;
      readonly ask?: (question: CallQuestion) => Promise<ElicitationAnswer>;
    },
  ) => Promise<ToolAnswer | ToolQuestion>;
  /** What a call would do that waits for a person. It may throw, and may be slow. Null when no tool makes previews. */
  readonly preview: ((target: ToolTarget, args: JsonObject) => Promise<ToolPreview>) | null;
  /** Restores the files that a call changed, all or none. Called only by bridges that lease undos. */
  readonly restore: (files: readonly FileBefore[]) => ToolAnswer;
}

/** Serves sessions until its signal aborts. Throws only when it cannot continue, which counts as a fault. */
export type SimulatedBridge = (world: BridgeWorld) => Promise<void>;
