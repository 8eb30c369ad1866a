// Reads events of every kind that was ever written. A stored event is digested in its recorded form and folded in its upcast
// form.
import { type Codec, variants } from './codec.ts';
import { INGRESS_KINDS, type IngressEvent, eventCodec } from './event.ts';
import { RETIRED_KINDS, type RetiredKind } from './retired-kinds.ts';

const retired: Readonly<Record<string, RetiredKind<RecordedEvent>>> = RETIRED_KINDS;

/** An event as any version of this code recorded it. */
export const RecordedEvent = variants('IngressEvent', 'kind', {
  ...Object.fromEntries(INGRESS_KINDS.map((kind) => [kind, eventCodec(kind)])),
  ...Object.fromEntries(Object.entries(retired).map(([kind, { codec }]) => [kind, codec])),
}) as unknown as Codec<RecordedEvent>;
export type RecordedEvent = Recorded[keyof Recorded];

type Recorded = { readonly current: IngressEvent } & {
  readonly [K in keyof typeof RETIRED_KINDS]: EventOf<(typeof RETIRED_KINDS)[K]>;
};
type EventOf<R> = R extends RetiredKind<infer E> ? E : never;

/** A recorded event in the current shape: unchanged, unless its kind is retired. */
export function upcast(event: RecordedEvent): IngressEvent {
  return Object.hasOwn(retired, event.kind)
    ? (retired[event.kind] as RetiredKind<RecordedEvent>).translate(event)
    : event;
}
