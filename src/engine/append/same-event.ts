// Compares an event sent under a known event id with the event recorded under it. An id names one fact: the same fact sent
// again gets its first answer. A different fact is refused; otherwise its sender would believe that it is recorded.
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { EventId } from '../../../schemas/ids.ts';
import type { Json } from '../../../schemas/json.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';

/** Fields that the edge adds or changes; they are not compared. */
const MEASURED: ReadonlySet<string> = new Set(['v', 'event_id', 'at_ms', 'output_verdict', 'jitter_permille', 'ends']);

/** Null when the request states the same fact as the recorded event, else `event_id_reused`. */
export function findOtherFact(sent: Ingress, recorded: IngressEvent): Rejection | null {
  const field = sent.kind === recorded.kind ? otherField(sent, recorded) : 'kind';
  if (field === null) return null;
  const message = `${nameOf(sent.event_id)} is recorded as a ${recorded.kind} with another ${field}; send a new event under a new id`;
  return reject('event_id_reused', '/event_id', message);
}

const nameOf = (id: EventId | undefined): string => (id === undefined ? 'the event' : `event "${id}"`);

function otherField(sent: Ingress, recorded: IngressEvent): string | null {
  const [was, is] = [factsOf(recorded), factsOf(sent)];
  // It follows from state, so a request need not state it.
  if (is['results_digest'] === undefined) delete was['results_digest'];
  const fields = new Set([...Object.keys(was), ...Object.keys(is)]);
  for (const field of fields) if (textOf(was[field]) !== textOf(is[field])) return field;
  return null;
}

const textOf = (value: Json | undefined): string => (value === undefined ? '' : canonicalText(value));

/** The fields of an event as a client states them, without what the edge adds. */
function factsOf(event: Ingress | IngressEvent): Record<string, Json | undefined> {
  const stated = Object.fromEntries(Object.entries(event).filter(([field]) => !MEASURED.has(field)));
  if (event.kind === 'ToolCallsObserved') return { ...stated, calls: event.calls.map(namesOf) };
  if (event.kind === 'user.tool_confirmation' && event.instead !== undefined) {
    return { ...stated, instead: namesOf(event.instead) };
  }
  // The edge looks up the batch and the files of the call to undo.
  return event.kind === 'UndoRequested' ? { kind: event.kind, call_id: event.call_id } : stated;
}

// Arguments may have been sent as text or in a blob; the call is the same either way.
const namesOf = ({ call_id, tool_name }: ToolCallObserved): Json => [call_id, tool_name];
