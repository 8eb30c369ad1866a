// What a run does, as an application sees it: texts, calls, questions and results, and at the end how it went.
import type { CallStatus, JsonObject, RunOutcome, Usage } from '../../schemas/index.ts';
import type { Question } from './questions.ts';

/** The next characters of what the model writes in this turn. */
export interface TextPart {
  readonly type: 'text';
  /** Counts from 1 in each run. */
  readonly turn: number;
  /** The next characters. */
  readonly text: string;
}

/** The texts of this turn so far do not count: the model is asked again. */
export interface RetractPart {
  readonly type: 'retract';
  /** Counts from 1 in each run. */
  readonly turn: number;
}

/** The model has made a call. `call` is unique in its turn. */
export interface CallPart {
  readonly type: 'call';
  /** Counts from 1 in each run. */
  readonly turn: number;
  /** Unique in its turn. */
  readonly call: string;
  /** The name that the model called. */
  readonly tool: string;
  /** As the model wrote them, parsed. */
  readonly arguments: JsonObject;
}

/** A call has ended, whatever settled it. `text` is what the model reads of it. */
export interface ResultPart extends Omit<CallPart, 'type'> {
  readonly type: 'result';
  /** `unknown`: it was started, and what it did is not known. `rejected`: it could not run as the model made it. */
  readonly status: EndStatus;
  /** What the model reads of it. */
  readonly text: string;
  /** Why it did not succeed: a stable code; null when it did. */
  readonly code: string | null;
}

/** How a call ended. */
export type EndStatus = Exclude<CallStatus, 'waiting' | 'queued' | 'running'>;

export type RunPart = TextPart | RetractPart | CallPart | Question | ResultPart;

export interface RunResult {
  /** How the run ended. */
  readonly status: RunOutcome;
  /** The last thing the model wrote. */
  readonly text: string;
  /** The tokens of all its turns. */
  readonly usage: Usage;
  /** Every call of the run with its result, in call order. */
  readonly calls: readonly Omit<ResultPart, 'type'>[];
  /** Its session; `run()` with it goes on with the conversation. */
  readonly session: string;
  /** The id of the run in its session, such as `run-1`. */
  readonly run: string;
  /** Why it did not complete; null when it did. */
  readonly code: string | null;
  /** Why it did not complete, for people; null when it did. */
  readonly message: string | null;
  /** The run began in an earlier process, or was asked for before under the same key. */
  readonly resumed: boolean;
}
