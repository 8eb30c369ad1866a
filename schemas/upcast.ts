// Retired kinds of events: no longer written, still read, because logs outlive the code that wrote them. A stored event is
// digested in its recorded form and folded in its upcast form.
import { type Codec, type TypeOf, integer, tagged, text, variants } from './codec.ts';
import { EVENT_VERSION, INGRESS_KINDS, type IngressEvent, eventCodec } from './event.ts';
import { EventId, RunId, TimeMs } from './ids.ts';

/** Version 1: interrupted a run without a way to continue it. Replaced by `user.interrupt`. */
const RunInterrupted = tagged(
  'RunInterrupted',
  { v: integer('v', 1, 1), event_id: EventId, at_ms: TimeMs, run_id: RunId },
  { reason: text('message', { max: 1_024 }) },
);
export type RetiredEvent = TypeOf<typeof RunInterrupted>;

/** Every retired kind, with the last version that wrote it. */
export const RETIRED_KINDS = { RunInterrupted: 1 } as const;

/** An event as any version of this code recorded it. */
export const RecordedEvent = variants('IngressEvent', 'kind', {
  ...Object.fromEntries(INGRESS_KINDS.map((kind) => [kind, eventCodec(kind)])),
  RunInterrupted,
}) as unknown as Codec<RecordedEvent>;
export type RecordedEvent = IngressEvent | RetiredEvent;

/** A recorded event in the current shape: unchanged, unless its kind is retired. */
export function upcast(event: RecordedEvent): IngressEvent {
  return event.kind === 'RunInterrupted' ? { ...event, kind: 'user.interrupt', v: EVENT_VERSION } : event;
}
