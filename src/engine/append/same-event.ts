// Compares an event sent under a known event id with the event recorded under it. An id names one fact: the same fact sent
// again gets its first answer. A different fact is refused; otherwise its sender would believe that it is recorded.
// Everything that the client states is compared, the arguments of calls by their digest.
import { canonicalText } from '../../../schemas/canonical.ts';
import type { Ingress, IngressEvent } from '../../../schemas/event.ts';
import type { Digest, EventId } from '../../../schemas/ids.ts';
import type { Json } from '../../../schemas/json.ts';
import { type Rejection, reject } from '../../../schemas/rejection.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';

/** Fields that the edge adds or changes; they are not compared. */
const MEASURED: ReadonlySet<string> = new Set([
  'v',
  'event_id',
  'at_ms',
  'content_verdict',
  'output_verdict',
  'jitter_permille',
  'ends',
]);

/** The digest that is recorded for the arguments of a call; null when they cannot be read any more. */
export type DigestArguments = (call: ToolCallObserved) => Promise<Digest | null>;

/** Null when the request states the same fact as the recorded event, else `event_id_reused`. */
export async function findOtherFact(
  sent: Ingress,
  recorded: IngressEvent,
  digestOf: DigestArguments,
): Promise<Rejection | null> {
  const field = sent.kind === recorded.kind ? await otherField(sent, recorded, digestOf) : 'kind';
  if (field === null) return null;
  const message = `${nameOf(sent.event_id)} is recorded as a ${recorded.kind} with different ${field}; send a new event under a new id`;
  return reject('event_id_reused', '/event_id', message);
}

const nameOf = (id: EventId | undefined): string => (id === undefined ? 'the event' : `event "${id}"`);

async function otherField(sent: Ingress, recorded: IngressEvent, digestOf: DigestArguments): Promise<string | null> {
  const [was, is] = [factsOf(recorded), factsOf(sent)];
  for (const field of FOLLOWING[sent.kind] ?? []) if (is[field] === undefined) delete was[field];
  const fields = new Set([...Object.keys(was), ...Object.keys(is)]);
  for (const field of fields) if (textOf(was[field]) !== textOf(is[field])) return field;
  const [recordedCalls, sentCalls] = [callsOf(recorded), callsOf(sent)];
  for (const [index, call] of sentCalls.entries()) {
    const { arguments_digest: digest } = recordedCalls[index] as ToolCallObserved;
    const given = digest === undefined ? null : await digestOf(call);
    if (given !== null && given !== digest) return 'arguments';
  }
  return null;
}

/** Fields that follow from state or from the stream, so that a request need not state them. */
const FOLLOWING: Partial<Record<Ingress['kind'], readonly string[]>> = {
  ToolBatchSettled: ['results_digest'],
  UndoRequested: ['batch_id', 'workspace'],
};

const textOf = (value: Json | undefined): string => (value === undefined ? '' : canonicalText(value));

/** The fields of an event as a client states them, without what the edge adds. */
function factsOf(event: Ingress | IngressEvent): Record<string, Json | undefined> {
  const stated = Object.fromEntries(Object.entries(event).filter(([field]) => !MEASURED.has(field)));
  if (event.kind === 'ToolCallsObserved') return { ...stated, calls: event.calls.map(namesOf) };
  if (event.kind === 'user.tool_confirmation' && event.instead !== undefined) {
    return { ...stated, instead: namesOf(event.instead) };
  }
  // Whatever a client says about the files of the call is replaced.
  return event.kind === 'UndoRequested' ? { ...stated, changes: undefined } : stated;
}

// Arguments may have been sent as text or in a blob; the call is the same either way.
const namesOf = ({ call_id, tool_name, provider_call_id }: ToolCallObserved): Json => [
  call_id,
  tool_name,
  provider_call_id ?? null,
];

function callsOf(event: Ingress | IngressEvent): readonly ToolCallObserved[] {
  if (event.kind === 'ToolCallsObserved') return event.calls;
  return event.kind === 'user.tool_confirmation' && event.instead !== undefined ? [event.instead] : [];
}
