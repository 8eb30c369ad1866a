// Events as rows, the marks on the bar, and turns as cards.
import type { CallAddress, OfSource, TurnAddress } from './addresses.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { Usage } from '../../schemas/run.ts';
import type { CallStatus } from '../../schemas/state.ts';
import type { TurnExplanation } from '../../src/core/index.ts';
import type { ShownContent, ShownText } from './texts.ts';

/** What draws the eye to an event. `refusal`: a call or turn that was rejected or denied; `failure`: of a call or generate. */
export type MarkKind = 'run' | 'turn' | 'person' | 'refusal' | 'failure' | 'change' | 'fault';

export interface Row {
  readonly position: number;
  readonly kind: IngressEvent['kind'];
  readonly at_ms: number;
  /** Who sent it, for events of people. */
  readonly by: string | null;
  readonly turn: TurnAddress | null;
  readonly call: CallAddress | null;
  /** One line of text, cut. */
  readonly text: string;
  readonly marks: readonly MarkKind[];
  /** The position of the first event of its commit. */
  readonly commit: number;
}

export interface RowsWindow {
  readonly from: number;
  readonly rows: readonly Row[];
  readonly total: number | null;
  /** Events before this one were folded to their recorded digests; the others are unchecked. */
  readonly checked: number;
}

export interface EventDetail {
  readonly position: number;
  /** The recorded event as JSON, indented and cut. */
  readonly event: ShownText;
  readonly event_digest: Digest;
  readonly commit: {
    readonly position: number;
    readonly events: number;
    readonly state_digest: Digest;
    readonly chain: Digest;
  };
  readonly checked: boolean;
  /** The blobs that the event refers to. */
  readonly blobs: readonly { readonly path: string; readonly ref: Digest; readonly bytes: number }[];
}

export interface MarksAnswer {
  /** The number of events that the parts cover; grows with the fold. */
  readonly events: number;
  /** One for each part: how many marks of each kind; kinds without one are absent. */
  readonly parts: readonly Readonly<Partial<Record<MarkKind, number>>>[];
  readonly totals: Readonly<Record<MarkKind, number>>;
}

export interface MarkWanted extends OfSource {
  readonly from: number;
  readonly direction: 'next' | 'previous';
  readonly kinds: readonly MarkKind[];
}

export interface TurnsWindow {
  readonly from: number;
  readonly turns: readonly TurnCard[];
  /** Turns as far as the fold is. */
  readonly total: number;
  readonly checked: number;
}

/** A turn as the session shows it. */
export interface TurnCard extends TurnAddress {
  /** Its place among the turns of the session. */
  readonly index: number;
  /** The first and the last event of it. */
  readonly first: number;
  readonly last: number;
  readonly began_ms: number;
  /** Null while it is open. */
  readonly over_ms: number | null;
  /** What people wrote before its generate: the input of the run, steers, the input of an interrupt. */
  readonly inputs: readonly ShownContent[];
  /** What the model wrote; null when it wrote nothing. */
  readonly text: ShownContent | null;
  readonly usage: Usage | null;
  readonly failures: TurnExplanation['failures'];
  /** The first calls of it; in a detail, all of them. */
  readonly calls: readonly CallCard[];
  readonly calls_total: number;
  /** How the run ended in it; null when it went on. */
  readonly ending: TurnExplanation['ending'];
}

export interface CallCard extends CallAddress {
  readonly tool_name: string;
  /** The arguments as one line of JSON. */
  readonly arguments: ShownText;
  readonly status: CallStatus;
  readonly code: string | null;
  /** What the model reads of its result; null while it has none. */
  readonly output: ShownContent | null;
  readonly ran_ms: number | null;
}
