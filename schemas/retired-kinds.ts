// The table of retired kinds of events: no longer written, still read, because logs outlive the code that wrote them.
import type { Codec } from './codec.ts';
import type { IngressEvent } from './event.ts';

/** One retired kind. */
export interface RetiredKind<E extends { readonly kind: string }> {
  /** The shape in which it was recorded, with its `v` bounded by `last_version`. */
  readonly codec: Codec<E>;
  /** The last EVENT_VERSION that wrote it. */
  readonly last_version: number;
  /** The event of a current kind that means the same, under the same event id and time. */
  readonly translate: (event: E) => IngressEvent;
}

/** Every retired kind, by its name; none yet. An entry is never removed or changed. */
export const RETIRED_KINDS = {} as const satisfies Readonly<Record<string, RetiredKind<never>>>;
