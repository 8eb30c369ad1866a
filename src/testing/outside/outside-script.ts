// What calls of a scenario do outside their bridge, as plain data: work at a server, and questions to a person. Drawn apart from
// the rest of a scenario.
import * as fc from 'fast-check';

/**
 * `work`: the server works, and the call waits for it with the handle that it noted. `ask`: the call asks, and keeps running.
 * `leave`: its attempt ends with a question.
 */
export const STEPS = ['work', 'ask', 'leave'] as const;

/**
 * How a person answers. `twice`: two answers at once. `after_cancel`: the question is cancelled, and answered all the same.
 * `foreign`: first the answer to another question. `misfit`: first with content that does not fit. `late`: after some seconds,
 * whether or not the question is still open.
 */
export const ANSWERED = ['accept', 'decline', 'cancel', 'twice', 'after_cancel', 'foreign', 'misfit', 'late'] as const;
export type Answered = (typeof ANSWERED)[number];

/**
 * When the bridge that runs the call dies, once: when the server has begun and no note is sent; when the note is recorded; while
 * the question is open; when the answer has arrived; when the attempt is about to end with a question; when an attempt goes on
 * with what another one left.
 */
export const BOUNDARIES = ['begun', 'noted', 'asking', 'answered', 'leaving', 'resumed'] as const;
export type Boundary = (typeof BOUNDARIES)[number];

export interface OutsideScript {
  /** What the call does, in order, before it ends as its behaviour says. */
  readonly steps: readonly (typeof STEPS)[number][];
  /** For the questions of the call in turn; the first follows the last. */
  readonly answers: readonly Answered[];
  /** The server forgets the work so many milliseconds after it began; null: never. */
  readonly forgetMs: number | null;
  readonly dies: Boundary | null;
}

export const outsideScript: fc.Arbitrary<OutsideScript> = fc.record<OutsideScript>({
  steps: fc.array(fc.constantFrom(...STEPS), { minLength: 1, maxLength: 4 }),
  answers: fc.array(fc.constantFrom(...ANSWERED, 'accept', 'accept', 'accept'), { minLength: 1, maxLength: 3 }),
  forgetMs: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 6_000 }) },
  ),
  dies: fc.constantFrom(null, null, null, ...BOUNDARIES),
});
