// A turn as the core sees it: what a framework's loop asks its model, and what the record has of the answer.
import type { ReplyCall, ReplyDelta } from '../../bridge/index.ts';
import type { Json, LayoutApi, LayoutPart, Stop, Usage } from '../../schemas/index.ts';
import type { LoopTool } from './loop-tools.ts';

/** One message of a prompt in a form that is the same for the same prompt: provider metadata and times are left out. */
export interface PromptMessage {
  readonly role: string;
  readonly content: Json;
}

/** What a loop asks its model. */
export interface TurnRequest {
  /** The whole prompt, as it is compared with the record. */
  readonly prompt: readonly PromptMessage[];
  /** The text that people see as the input of the run: mostly the last message of the user. */
  readonly input: string;
  /** The system prompt, for the record; null without one. */
  readonly instructions: string | null;
  /** The tools that the model is offered. */
  readonly tools: readonly LoopTool[];
  /** The results in the prompt that the loop made without the core, by the id of the call in its recorded turn. */
  readonly results: ReadonlyMap<string, LoopResult>;
  /** The loop keeps its own history: a turn is found by its prompt alone, wherever it is in the record. */
  readonly standsAlone?: boolean;
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal | undefined;
  /** Asks the model. Its errors reach the loop as they are, and nothing is recorded: the loop may ask again. */
  readonly ask: (asked: Asked) => Promise<TurnReply>;
}

/** The result of a call that the loop did not hand to the core. */
export interface LoopResult {
  readonly text: string;
  readonly success: boolean;
}

export interface Asked {
  /** Aborts when the loop gives up, the run is cancelled, or this process must stop. */
  readonly signal: AbortSignal;
  /** Shows what the model writes to people who watch the session. */
  readonly onDelta: (delta: ReplyDelta) => void;
  /** The id that the loop will know the call of this index by. */
  readonly callId: (index: number) => string;
  /** The provider's own id of a call that the loop knows by another, for what the provider is sent; else the same id. */
  readonly providerId: (id: string) => string;
}

/** What the model answered, in the framework's own parts. */
export interface TurnReply {
  readonly content: string;
  /** With the ids that the provider gave them. */
  readonly calls: readonly ReplyCall[];
  /** Every part of the answer in its order: `text`, `call`, and as `item` the JSON text of anything else. */
  readonly parts: readonly LayoutPart[];
  readonly usage?: Usage;
  readonly stop?: Stop;
}

/** A turn from the record. The first time, too, the loop gets what was recorded, so that a replay is the same. */
export interface RecordedTurn {
  /** Counts from 1 in each run. */
  readonly turn: number;
  readonly content: string;
  readonly calls: readonly RecordedCall[];
  /** As the reply had them; an item that held a secret is gone. */
  readonly parts: readonly LayoutPart[];
  readonly usage: Usage | null;
  readonly stop: Stop | null;
  /** It was recorded before this loop asked: the model was not asked. */
  readonly replayed: boolean;
}

export interface RecordedCall {
  /** Unique in the session, and made by refold, because a provider may give an id twice. */
  readonly id: string;
  /** The id that the provider gave it; `id` when it gave none, or the record has lost it. */
  readonly provider_id: string;
  readonly name: string;
  /** The text of the arguments: canonical JSON, or what the model wrote when that is no JSON object. */
  readonly arguments: string;
}

/** The framework whose parts a layout holds, and the name of its model. */
export interface TurnFormat {
  readonly api: LayoutApi;
  readonly model: string;
}
