// Decisions under an alternative, and two streams compared.
import type { CallAddress } from './addresses.ts';
import type { ConsentPolicy } from '../../schemas/consent.ts';
import type { ProfileId } from '../../schemas/ids.ts';
import type { CallChange, TurnWhatIf } from '../../src/core/index.ts';
import type { OfferChange } from '../../src/core/compare/what-if.ts';
import type { ShownDiff } from './state.ts';
import type { Fault } from './verdicts.ts';

export interface AlternativesKnown {
  /** The names of the presets, with their policies. */
  readonly policies: Readonly<Record<string, ConsentPolicy>>;
  readonly policy: ConsentPolicy;
  readonly profiles: readonly ProfileId[];
  readonly profile: ProfileId | null;
}

/** At least one of them. The texts are those of the files that `refold whatif` takes. */
export interface AlternativeGiven {
  /** The name of a preset, or the JSON text of a policy. */
  readonly policy?: string;
  readonly profile?: string;
  /** The JSON text of a list of tools, or of `{ registry, profiles?, provider_profiles? }`. */
  readonly registry?: string;
  /** Only the turns of this many events. */
  readonly at?: number;
}

export interface WhatIfSummary {
  readonly turns: number;
  readonly calls: number;
  readonly rejections: number;
  readonly approvals: number;
  readonly plans: number;
  readonly offers: number;
  readonly faults: number;
  /** Calls that keep their recorded verdict, because this page has no checker of JSON Schemas, or their arguments are not there. */
  readonly unjudged: number;
  /** How many turns are decided differently. */
  readonly changed: number;
}

export interface WhatIfWindow {
  readonly from: number;
  readonly total: number;
  readonly turns: readonly WhatIfTurn[];
}

export interface WhatIfTurn extends Pick<TurnWhatIf, 'position' | 'run_id' | 'turn' | 'calls' | 'unjudged' | 'fault'> {
  readonly offer: OfferChange | null;
  /** In a window, the first of them. */
  readonly changes: readonly WhatIfChange[];
  /** How many more there are. */
  readonly rest: number;
}

export interface WhatIfChange extends CallChange {
  /** The recorded decision and the other one, in words. */
  readonly was: string;
  readonly would_be: string;
  /** Of the turn, for a link. */
  readonly address: CallAddress | null;
}

export interface ExportedFile {
  readonly name: string;
  readonly text: string;
}

export interface CompareWanted {
  readonly a: number;
  readonly b: number;
  /** Also ids, times and digests. */
  readonly strict: boolean;
  readonly at?: number;
}

export interface Comparison {
  readonly same: boolean;
  readonly first: {
    /** -1 is the genesis record. */
    readonly position: number;
    readonly a: string | null;
    readonly b: string | null;
    readonly paths: ShownDiff;
  } | null;
  readonly state_after_first: ShownDiff | null;
  readonly state_at_end: ShownDiff;
  readonly events: { readonly a: number; readonly b: number };
  /** The source that does not fold as recorded; nothing after that commit was compared. */
  readonly divergence: { readonly source: number; readonly fault: Fault } | null;
  /** The paths that are not compared, without `strict`. */
  readonly ignored: { readonly records: readonly string[]; readonly state: readonly string[] } | null;
}
