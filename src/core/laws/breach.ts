// What a law reads, and what it reports.
import type { IngressEvent } from '../../../schemas/event.ts';
import type { BatchId, CallId } from '../../../schemas/ids.ts';
import type { FoldedEvent } from '../folded-event.ts';
import type { BatchReading, CallReading, CallResult, Reading } from './reading.ts';

export type LawOnRecord =
  | 'plan_kept'
  | 'one_result_in_call_order'
  | 'answered_by_digest'
  | 'began_once'
  | 'deny_won'
  | 'run_goes_on'
  | 'questions_kept'
  | 'noted_work_awaited'
  | 'measured_as_recorded';

/** Two recorded facts that contradict each other. */
export interface LawBreach {
  readonly law: LawOnRecord;
  /** The position of the event that breaks the law. */
  readonly position: number;
  /** The position of the event that it contradicts; -1 is the genesis record. */
  readonly against: number;
  readonly batch_id?: BatchId;
  readonly call_id?: CallId;
  /** One sentence for people. */
  readonly message: string;
}

/** One event, and what the events before it say. */
export interface LawCase {
  readonly folded: FoldedEvent;
  readonly reading: Reading;
  /** The open batch, if the event names it. */
  readonly batch: BatchReading | null;
  /** The call of that batch that the event names. */
  readonly call: CallReading | null;
  /** The event reports a call that an interrupt left running. */
  readonly detached: boolean;
  /** The calls of the open batch that get their result by this event. */
  readonly results: ReadonlyMap<CallReading, CallResult>;
}

export type LawOfRecord = (judged: LawCase) => readonly LawBreach[];

interface Fault extends Pick<LawBreach, 'against' | 'message'> {
  /** The call at fault, when it is not the one that the event names. */
  readonly call?: Pick<CallReading, 'call_id'> | null;
}

/** A breach by the event of this case. */
export function breachOf(law: LawOnRecord, { folded, reading }: LawCase, { against, call, message }: Fault): LawBreach {
  const batch_id = batchNamedBy(folded.event) ?? folded.after.active_tool_batch?.batch_id ?? reading.open?.batch_id;
  const call_id = call?.call_id ?? callNamedBy(folded.event);
  return {
    law,
    position: folded.position,
    against,
    ...(batch_id === undefined ? {} : { batch_id }),
    ...(call_id === undefined ? {} : { call_id }),
    message,
  };
}

const batchNamedBy = (event: IngressEvent): BatchId | undefined => ('batch_id' in event ? event.batch_id : undefined);
const callNamedBy = (event: IngressEvent): CallId | undefined => ('call_id' in event ? event.call_id : undefined);
