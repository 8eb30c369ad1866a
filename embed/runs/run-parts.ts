// What a run does, as an application sees it: texts, calls, questions and results, and at the end how it went.
import type { CallStatus, JsonObject, RunOutcome, Usage } from '../../schemas/index.ts';
import type { Question } from './questions.ts';

/** The next characters of what the model writes in this turn. */
export interface TextPart {
  readonly type: 'text';
  readonly turn: number;
  readonly text: string;
}

/** The texts of this turn so far do not count: the model is asked again. */
export interface RetractPart {
  readonly type: 'retract';
  readonly turn: number;
}

/** The model has made a call. `call` is unique in its turn. */
export interface CallPart {
  readonly type: 'call';
  readonly turn: number;
  readonly call: string;
  readonly tool: string;
  readonly arguments: JsonObject;
}

/** A call has ended, whatever settled it. `text` is what the model reads of it. */
export interface ResultPart extends Omit<CallPart, 'type'> {
  readonly type: 'result';
  /** `unknown`: it was started, and what it did is not known. `rejected`: it could not run as the model made it. */
  readonly status: EndStatus;
  readonly text: string;
  /** Why it did not succeed: a stable code; null when it did. */
  readonly code: string | null;
}

/** How a call ended. */
export type EndStatus = Exclude<CallStatus, 'waiting' | 'queued' | 'running'>;

export type RunPart = TextPart | RetractPart | CallPart | Question | ResultPart;

export interface RunResult {
  readonly status: RunOutcome;
  /** The last thing the model wrote. */
  readonly text: string;
  readonly usage: Usage;
  /** Every call of the run with its result, in call order. */
  readonly calls: readonly Omit<ResultPart, 'type'>[];
  readonly session: string;
  readonly run: string;
  /** Why it did not complete; null when it did. */
  readonly code: string | null;
  readonly message: string | null;
  /** The run began in an earlier process, or was asked for before under the same key. */
  readonly resumed: boolean;
}
