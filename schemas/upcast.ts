// The log outlives the code: kinds of events that are recorded no more, and what they mean today. A stored event is
// digested as it was written and folded as it is read here (STYLE, "The log outlives the code").
import { type Codec, type TypeOf, integer, tagged, text, variants } from './codec.ts';
import { EVENT_VERSION, INGRESS_KINDS, type IngressEvent, eventCodec } from './event.ts';
import { EventId, RunId, TimeMs } from './ids.ts';

/** Version 1: interrupted a run without saying how to go on. `user.interrupt` took its place. */
const RunInterrupted = tagged(
  'RunInterrupted',
  { v: integer('v', 1, 1), event_id: EventId, at_ms: TimeMs, run_id: RunId },
  { reason: text('message', { max: 1_024 }) },
);
export type RetiredEvent = TypeOf<typeof RunInterrupted>;

/** Every kind that is read and no longer written, with the last version that wrote it. */
export const RETIRED_KINDS = { RunInterrupted: 1 } as const;

/** An event as some version of this code recorded it. */
export const RecordedEvent = variants('IngressEvent', 'kind', {
  ...Object.fromEntries(INGRESS_KINDS.map((kind) => [kind, eventCodec(kind)])),
  RunInterrupted,
}) as unknown as Codec<RecordedEvent>;
export type RecordedEvent = IngressEvent | RetiredEvent;

/** What a recorded event says in today's shapes: itself, unless its kind was retired. */
export function upcast(event: RecordedEvent): IngressEvent {
  return event.kind === 'RunInterrupted' ? { ...event, kind: 'user.interrupt', v: EVENT_VERSION } : event;
}
