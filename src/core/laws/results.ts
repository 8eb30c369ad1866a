// Which calls get their result by an event.
import { callStateAt } from '../../../reducers/batch-index.ts';
import type { EventOfKind, IngressEvent } from '../../../schemas/event.ts';
import type { CallStatus } from '../../../schemas/state.ts';
import type { FoldedEvent } from '../folded-event.ts';
import { type BatchReading, type CallReading, type CallResult, changesRules, isSameCall } from './reading.ts';

/** The calls of the open batch without a result that get one by this event, and how they end. */
export function resultsBy(folded: FoldedEvent, batch: BatchReading | null): ReadonlyMap<CallReading, CallResult> {
  const { event } = folded;
  if (batch === null) return new Map();
  if (ENDS_MANY.has(event.kind)) return endedBy(folded, batch);
  return new Map([...reportedBy(folded, batch), ...refusedBy(folded, batch)]);
}

/** The call that the event names, and those that share its result. */
function reportedBy(folded: FoldedEvent, batch: BatchReading): ReadonlyMap<CallReading, CallResult> {
  const { event } = folded;
  if (!('batch_id' in event) || !('call_id' in event) || event.batch_id !== batch.batch_id) return new Map();
  const call = batch.byId.get(event.call_id);
  const status = call === undefined || call.result !== null ? null : statusBy(folded, call);
  if (call === undefined || status === null) return new Map();
  const sharing = (batch.sharers.get(call.call_id) ?? []).filter(({ result }) => result === null);
  return new Map([call, ...sharing].map((ended) => [ended, status]));
}

/** The calls that have not started and that a change of what is allowed refuses; which, only the state says. */
function refusedBy(folded: FoldedEvent, batch: BatchReading): ReadonlyMap<CallReading, CallResult> {
  if (!changesRules(folded)) return new Map();
  const refused = batch.calls.filter(
    (call) => call.result === null && !call.running && statusAfter(folded, call) === 'rejected',
  );
  return new Map(refused.map((call) => [call, 'rejected']));
}

/** What a report says about how the call ended. */
const outcomeOf = ({
  outcome,
  result,
  output_verdict,
}: EventOfKind<'ToolCallSettled'>): 'succeeded' | 'failed' | 'cancelled' | 'unknown' => {
  const said = outcome ?? (result.success ? 'succeeded' : 'failed');
  return said === 'succeeded' && output_verdict?.valid === false ? 'failed' : said;
};

/** Whether the event says that a call began, or what it returned. Cancelled and unknown calls need not have begun. */
export function isWork(event: IngressEvent): boolean {
  if (event.kind === 'ToolCallStarted' || event.kind === 'user.custom_tool_result') return true;
  if (event.kind !== 'ToolCallSettled') return false;
  const outcome = outcomeOf(event);
  return outcome === 'succeeded' || outcome === 'failed';
}

function statusBy(folded: FoldedEvent, call: CallReading): CallResult | null {
  const { event } = folded;
  if (event.kind === 'user.custom_tool_result') return event.result.success ? 'succeeded' : 'failed';
  if (event.kind === 'user.tool_confirmation') return event.result === 'deny' ? 'denied' : null;
  if (event.kind === 'user.elicitation_result' || event.kind === 'ToolCallAsked')
    return statusAfter(folded, call) === 'rejected' ? 'rejected' : null;
  if (event.kind === 'LeaseExpired') return lostBy(folded, call);
  if (event.kind !== 'ToolCallSettled') return null;
  const outcome = outcomeOf(event);
  if (outcome !== 'failed' || event.retryable !== true || call.planned?.repeatable !== true) return outcome;
  const next = nextAttempt(statusAfter(folded, call));
  return next === 'none' ? outcome : next;
}

/** A repeatable call, and one whose work was noted, has a next attempt, unless its run is ending. */
function lostBy(folded: FoldedEvent, call: CallReading): CallResult | null {
  const repeatable = call.planned?.repeatable === true;
  const next = repeatable || call.notedAt !== null ? nextAttempt(statusAfter(folded, call)) : 'none';
  if (next !== 'none') return next;
  return repeatable ? 'cancelled' : 'unknown';
}

/** What becomes of the next attempt of a call: it is owed or asks a person (null), or is refused; or there is none. */
function nextAttempt(status: CallStatus | undefined): null | 'rejected' | 'none' {
  if (status === 'queued' || status === 'waiting') return null;
  return status === 'rejected' ? status : 'none';
}

/** The kinds that may end several calls, which only the state names. */
const ENDS_MANY: ReadonlySet<IngressEvent['kind']> = new Set([
  'TimeReached',
  'user.interrupt',
  'RunCancelled',
  'RunFailed',
]);

function endedBy(folded: FoldedEvent, batch: BatchReading): ReadonlyMap<CallReading, CallResult> {
  const ended = new Map<CallReading, CallResult>();
  for (const call of batch.calls) {
    if (call.result !== null) continue;
    const status = call.running ? leftRunning(folded, batch, call) : endOf(folded, batch, call);
    if (status !== null) ended.set(call, status);
  }
  // A call that shares the result of one left running gets that one's.
  for (const [shared, status] of ended) {
    for (const call of batch.sharers.get(shared.call_id) ?? []) if (call.result === null) ended.set(call, status);
  }
  return ended;
}

/** An interrupt leaves a running call to itself when its tool may continue. */
function leftRunning({ event, after }: FoldedEvent, { batch_id }: BatchReading, call: CallReading): CallResult | null {
  if (event.kind !== 'user.interrupt' || call.planned?.interrupt_behavior !== 'continue') return null;
  const left = after.detached?.some((row) => isSameCall(row, { batch_id, call_id: call.call_id })) === true;
  return left ? 'unknown' : null;
}

/** How a call that does not run ends: it is cancelled, or its time is over. */
function endOf(folded: FoldedEvent, { batch_id }: BatchReading, call: CallReading): CallResult | null {
  if (folded.after.active_tool_batch?.batch_id !== batch_id) return 'cancelled';
  const status = statusAfter(folded, call);
  if (status === 'cancelled') return status;
  if (folded.event.kind !== 'TimeReached') return null;
  return status === 'denied' || status === 'failed' || status === 'rejected' ? status : null;
}

/** The status of a call after an event, as the state has it. */
export const statusAfter = ({ after }: FoldedEvent, { index }: CallReading): CallStatus | undefined =>
  after.active_tool_batch === null ? undefined : callStateAt(after.active_tool_batch, index)?.status;

/** The code with which the call ended; no event says it when a time or a cancellation ended the call. */
export const codeBefore = ({ before }: FoldedEvent, { index }: CallReading): string | null =>
  before.active_tool_batch === null ? null : (callStateAt(before.active_tool_batch, index)?.code ?? null);
