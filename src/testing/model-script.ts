// How the model of a simulated session answers besides its text and calls: why it stops, the layout of its turns, what it
// counts, how it fails, how it summarises, and whether it tells what it writes. Plain data, drawn apart from the rest of a
// scenario.
import * as fc from 'fast-check';

/**
 * How the model answers. `plainly`: as a model that does not say why it stops. `pauses`, `refuses` and `is_empty` make no
 * calls. `is_too_long` fails because the conversation is too long, `is_busy` fails once for a reason that passes.
 */
export const ANSWERS = [
  'plainly',
  'ends',
  'pauses',
  'is_cut',
  'refuses',
  'refuses_calling',
  'is_filtered',
  'is_empty',
  'is_too_long',
  'is_busy',
] as const;

export const LAYOUT_SIZES = ['none', 'small', 'blob'] as const;

export const USAGES = ['none', 'plain', 'detailed'] as const;

export interface AnswerScript {
  readonly how: (typeof ANSWERS)[number];
  readonly layout: (typeof LAYOUT_SIZES)[number];
  readonly usage: (typeof USAGES)[number];
  /** How long it writes, in milliseconds. */
  readonly ms: number;
}

/**
 * How the model answers when it is asked for a summary. `is_busy` and `is_too_long` fail once, and `dies` ends the bridge
 * that asks, once; then the summary follows. The others give none.
 */
export const COMPACTIONS = ['summarises', 'is_busy', 'is_too_long', 'dies', 'fails', 'calls', 'is_empty'] as const;
export type CompactScript = (typeof COMPACTIONS)[number];

export interface ModelScript {
  /** The tokens above which the conversation is compacted; null: it never is. */
  readonly mark: number | null;
  /** For the answers in turn; the first follows the last. */
  readonly answers: readonly AnswerScript[];
  readonly compactions: readonly CompactScript[];
  /** Whether the model tells what it writes while it writes. */
  readonly deltas: boolean;
}

/** What every delta holds, and nothing that is recorded. */
export const DELTA_MARK = '\u2020delta';

const answer = fc.record<AnswerScript>({
  how: fc.constantFrom(...ANSWERS, 'plainly', 'ends', 'ends', 'pauses', 'pauses', 'pauses', 'is_too_long'),
  layout: fc.constantFrom('none', 'small', 'small', 'small', 'blob'),
  usage: fc.constantFrom('none', 'plain', 'detailed'),
  ms: fc.integer({ min: 0, max: 300 }),
});

export const modelScript: fc.Arbitrary<ModelScript> = fc.record<ModelScript>({
  mark: fc.constantFrom(null, 1, 1, 1, 1, 40, 60),
  answers: fc.array(answer, { minLength: 1, maxLength: 5 }),
  compactions: fc.array(fc.constantFrom(...COMPACTIONS, 'summarises', 'summarises', 'summarises'), {
    minLength: 1,
    maxLength: 3,
  }),
  deltas: fc.boolean(),
});
