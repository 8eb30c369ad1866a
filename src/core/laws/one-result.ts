// Each call has one result, and the model reads the results in call order (docs/design.md, laws 4 and 5).
import { digestJson } from '../../../schemas/canonical.ts';
import type { EventOfKind } from '../../../schemas/event.ts';
import type { CallId } from '../../../schemas/ids.ts';
import type { TranscriptEntry } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { FoldedEvent } from '../folded-event.ts';
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import type { BatchReading, CallReading, CallResult } from './reading.ts';
import { codeBefore, isWork } from './results.ts';

export function checkOneResult(judged: LawCase): readonly LawBreach[] {
  return [...checkAgain(judged), ...checkClosing(judged), ...checkRefusedTurn(judged)];
}

type Found = Parameters<typeof breachOf>[2];

const broken = (judged: LawCase, found: Found): LawBreach => breachOf('one_result_in_call_order', judged, found);

/** A report on a call that has its result, or of a batch that is over. */
function checkAgain(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, batch, call, detached } = judged;
  const { event } = folded;
  if (!ENDS.has(event.kind) || !('batch_id' in event) || event.batch_id === undefined || detached) return [];
  if (batch === null) {
    const against = reading.open?.openedAt ?? reading.closed?.position ?? -1;
    return [broken(judged, { against, message: `${event.kind} names ${event.batch_id}, which is not open` })];
  }
  if (call === null || call.result === null) return [];
  const { position, status } = call.result;
  // What was refused and runs nevertheless breaks another law.
  if ((status === 'denied' || status === 'rejected') && isWork(event)) return [];
  const message = `${event.kind} ends the call "${call.call_id}" again: it is ${status}`;
  return [broken(judged, { against: position, message })];
}

const ENDS: ReadonlySet<string> = new Set([
  'ToolCallSettled',
  'LeaseExpired',
  'user.custom_tool_result',
  'ToolBatchSettled',
]);

/** When the batch closes, every call has a result, and they enter the conversation in call order. */
function checkClosing(judged: LawCase): readonly LawBreach[] {
  const { folded, reading, results } = judged;
  const { open } = reading;
  const stays = folded.after.active_tool_batch?.batch_id === open?.batch_id;
  if (open === null || (stays && closingOf(folded, open) === null)) return [];
  const against = open.openedAt;
  const without = open.calls.filter((call) => call.result === null && !results.has(call));
  const missing = without.map((call) =>
    broken(judged, { against, call, message: `${open.batch_id} closes, but "${call.call_id}" has no result` }),
  );
  if (stays && missing.length > 0) return missing;
  const entries = appendedBy(folded);
  const observed = open.calls.map((call) => call.observed);
  const disorder = findDisorder(observed, entries);
  if (disorder !== null) return [...missing, broken(judged, { against, ...disorder, call: at(open, disorder) })];
  const closing = { open, entries, results };
  return [...missing, ...misread(judged, closing), ...misdigested(judged, closing)];
}

/** The event if it says that the batch closes. An interrupt or a cancellation closes one without saying so. */
const closingOf = ({ event }: FoldedEvent, { batch_id }: BatchReading): EventOfKind<'ToolBatchSettled'> | null =>
  event.kind === 'ToolBatchSettled' && event.batch_id === batch_id ? event : null;

const at = (open: BatchReading, { index }: Disorder): CallReading | null => open.calls[index] ?? null;

/** A turn that ends its run opens no batch: every call is answered at once. */
function checkRefusedTurn(judged: LawCase): readonly LawBreach[] {
  const { event, position, after } = judged.folded;
  if (event.kind !== 'ToolCallsObserved' || event.calls.length === 0 || after.active_tool_batch !== null) return [];
  // The answer of the model itself comes first.
  const disorder = findDisorder(event.calls, appendedBy(judged.folded).slice(1));
  return disorder === null ? [] : [broken(judged, { against: position, message: disorder.message })];
}

/** The entries that an event adds to the conversation. A page that it seals has left the state; the rest stays open. */
function appendedBy({ before, after, sealed }: FoldedEvent): readonly TranscriptEntry[] {
  const known = before.transcript.open.length;
  if (sealed === null) return after.transcript.open.slice(known);
  const { entries } = JSON.parse(sealed.text) as { readonly entries: readonly TranscriptEntry[] };
  return [...entries, ...after.transcript.open].slice(known);
}

interface Disorder {
  /** Among the calls. */
  readonly index: number;
  readonly message: string;
}

/** The first entry that is not the result of the call in its place. */
function findDisorder(calls: readonly ToolCallObserved[], entries: readonly TranscriptEntry[]): Disorder | null {
  const taken = new Set<CallId>();
  for (const [index, call] of calls.entries()) {
    const entry = entries[index];
    const shown = entry?.role === 'tool' ? entry.call_id : undefined;
    const due = `result ${index + 1} of ${calls.length} must be that of "${call.call_id}"`;
    if (shown === undefined) return { index, message: `${due}, but the conversation has none there` };
    if (taken.has(shown) || !names(shown, call.call_id, taken)) {
      return { index, message: `${due}, but the conversation has that of "${shown}"` };
    }
    taken.add(shown);
  }
  const next = entries[calls.length];
  if (next?.role !== 'tool') return null;
  const message = `after the ${calls.length} results the conversation has one more, of "${next.call_id ?? 'no call'}"`;
  return { index: calls.length, message };
}

/** The second call with an id is shown under an id made from it, because each result names one call. */
const names = (shown: CallId, id: CallId, taken: ReadonlySet<CallId>): boolean =>
  shown === id || (taken.has(id) && shown.startsWith(`${id.slice(0, 112)}~`));

interface Closing {
  readonly open: BatchReading;
  readonly entries: readonly TranscriptEntry[];
  readonly results: ReadonlyMap<CallReading, CallResult>;
}

/** Results that the model reads as something else than is recorded. */
function misread(judged: LawCase, { open, entries, results }: Closing): readonly LawBreach[] {
  return open.calls.flatMap((call) => {
    const status = call.result?.status ?? results.get(call);
    const shown = entries[call.index]?.is_error === true ? 'a failure' : 'a success';
    const due = status === 'succeeded' ? 'a success' : 'a failure';
    if (status === undefined || shown === due) return [];
    const against = call.result?.position ?? judged.folded.position;
    return [broken(judged, { against, call, message: `"${call.call_id}" is ${status}, but the model reads ${shown}` })];
  });
}

/** The recorded digest is that of other results than the events gave and the model reads. */
function misdigested(judged: LawCase, { open, entries }: Closing): readonly LawBreach[] {
  const event = closingOf(judged.folded, open);
  if (event === null || open.calls.some(({ result }) => result === null)) return [];
  const results = open.calls.map((call) => {
    const { attachments, content = null } = entries[call.index] ?? {};
    return {
      ...(attachments === undefined ? {} : { attachments }),
      call_id: call.call_id,
      code: codeBefore(judged.folded, call),
      output: content,
      status: call.result?.status ?? null,
    };
  });
  const due = digestJson(results);
  if (event.results_digest === due) return [];
  const message = `${open.batch_id} closes with the results ${event.results_digest}, but the model reads ${due}`;
  return [broken(judged, { against: open.openedAt, message })];
}
