// One turn with its plans, and one call.
import type { CallAddress } from './addresses.ts';
import type { Attachment } from '../../schemas/content.ts';
import type { BatchId, CallId, Digest } from '../../schemas/ids.ts';
import type { PlannedToolCall, RejectedToolCall } from '../../schemas/plan.ts';
import type { CallStatus } from '../../schemas/state.ts';
import type { FileChange } from '../../schemas/undo.ts';
import type { CallExplanation, CallTimeline, Conflict, TurnExplanation, TurnTimeline } from '../../src/core/index.ts';
import type { TurnCard } from './rows.ts';
import type { ShownContent, ShownText } from './texts.ts';

export interface TurnDetail extends TurnCard {
  readonly explanation: TurnExplanation;
  /** The waits and the work of its calls in time, once for each batch; the first begins with the generate. */
  readonly timelines: readonly TurnTimeline[];
  /** The plans of its batches, in order; none when it made no calls, or was refused as a whole. */
  readonly plans: readonly PlanGraph[];
  /** The tools that were offered with its generate. */
  readonly offered: readonly string[];
}

export interface PlanGraph {
  readonly batch_id: BatchId;
  readonly plan_hash: Digest;
  /** The columns: calls by level, in observed order. */
  readonly groups: readonly (readonly CallId[])[];
  readonly calls: readonly PlanNode[];
  /** Earlier to later: the minimal set. */
  readonly edges: readonly PlanEdge[];
  readonly rejected: readonly RejectedToolCall[];
  /** The chain of calls that took the longest, first to last; empty while nothing ran. */
  readonly critical: readonly CallId[];
  /** From the start of the first call on it to the end of the last. */
  readonly critical_ms: number;
}

export interface PlanNode extends PlannedToolCall {
  readonly group: number;
  readonly status: CallStatus;
  readonly code: string | null;
  readonly spans: CallTimeline['spans'];
}

export interface PlanEdge {
  readonly from: CallId;
  readonly to: CallId;
  readonly conflict: Conflict | null;
  /** The conflict in words, as `refold explain` says it. */
  readonly why: string;
}

export interface CallDetail {
  readonly address: CallAddress;
  /** All that `refold explain --call` knows. */
  readonly explanation: CallExplanation;
  /** The same as sentences, one a line, without colours. */
  readonly lines: readonly string[];
  readonly arguments: ShownText;
  /** What the model reads. */
  readonly output: ShownContent | null;
  readonly attachments: readonly Attachment[];
  /** The whole result as JSON; null while there is none. */
  readonly result: ShownText | null;
  readonly changes: readonly FileChange[];
  readonly undo: UndoState;
  /** A command that shows the same in a terminal. */
  readonly command: string;
}

/** Whether the files of a call can be put back. */
export type UndoState =
  | { readonly state: 'none' }
  | { readonly state: 'possible' }
  | { readonly state: 'impossible'; readonly why: string }
  | { readonly state: 'pending' | 'done' | 'failed'; readonly position: number; readonly message: string | null };

export interface ChangedFile {
  readonly change: FileChange;
  /** Null when there was no file. `absent`: why its content is not known. */
  readonly before: ShownText | Absent | null;
  readonly after: ShownText | Absent | null;
  /** The difference, as the terminal makes it; empty when one side is not known. */
  readonly lines: readonly DiffLine[];
  /** How many more lines there are. */
  readonly rest: number;
}

export interface Absent {
  readonly absent: string;
}

export interface DiffLine {
  /** `@`: where the lines are; `»`: what refold says of a file. */
  readonly sign: '+' | '-' | ' ' | '@' | '»';
  readonly text: string;
}
