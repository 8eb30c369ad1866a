// How the previews of the asking calls of a scenario go, as plain data: what the bridge finds, when a file changes after it, and
// which preview the answer names. Drawn apart from the rest of a scenario.
import * as fc from 'fast-check';

/**
 * What becomes of the preview. `shown`: it is found. `twice`: and reported again under another event id. `none`: there is a
 * reason why there is none. `throws`: the tool fails to find it.
 */
export const PREVIEWS = ['shown', 'twice', 'none', 'throws'] as const;

/** Which preview the answer names: the one on record, if there is one; first another one; or none. */
export const NAMED = ['shown', 'foreign', 'none'] as const;

export interface PreviewScript {
  readonly how: (typeof PREVIEWS)[number];
  /** How long the bridge takes to find it, in milliseconds: perhaps until after the answer. */
  readonly ms: number;
  /** Somebody changes the file so many milliseconds after the preview was found; null: nobody. */
  readonly editMs: number | null;
  readonly named: (typeof NAMED)[number];
}

export const previewScript: fc.Arbitrary<PreviewScript> = fc.record<PreviewScript>({
  how: fc.constantFrom(...PREVIEWS, 'shown', 'shown', 'shown'),
  ms: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1, max: 800 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 4_000 }) },
    { weight: 1, arbitrary: fc.integer({ min: 4_000, max: 6_000 }) },
  ),
  editMs: fc.oneof(
    { weight: 2, arbitrary: fc.constant(null) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 1_500 }) },
  ),
  named: fc.constantFrom(...NAMED, 'shown', 'shown', 'shown'),
});
