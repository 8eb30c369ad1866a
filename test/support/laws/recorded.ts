// Streams as the judge of a record reads them: lawful ones, and ones that were folded by a fold that refuses nothing.
import { isLeft } from 'fp-ts/lib/Either.js';
import type { IngressEvent, Position, SessionState } from '../../../schemas/index.ts';
import { type FoldedEvent, type LawBreach, type Origin, initialState, newLawCheck } from '../../../src/core/index.ts';
import { foldEvent } from '../../../src/core/step.ts';
import { evolve } from '../../../reducers/evolve.ts';
import { sealTranscript } from '../../../reducers/transcript.ts';
import { InvariantError } from '../../../schemas/rejection.ts';
import { walk } from '../streams.ts';

export interface Recorded extends Origin {
  readonly folded: readonly FoldedEvent[];
}

/** A random session, without the facts that the session refuses. */
export function lawful(seed: number, length: number): Recorded {
  const { genesis, tool_package, events } = walk(seed, length).session;
  let before = initialState(genesis, tool_package);
  const folded: FoldedEvent[] = [];
  for (const event of events) {
    const step = foldEvent(before, event);
    if (isLeft(step)) continue;
    const { state: after, sealed } = step.right;
    folded.push({ position: folded.length as Position, event, before, after, sealed });
    before = after;
  }
  return { genesis, tool_package, folded };
}

/** Folds events without admission. An event that cannot be folded leaves the state as it is. */
export function foldAnything(
  { genesis, tool_package }: Origin,
  events: readonly IngressEvent[],
): readonly FoldedEvent[] {
  let before = initialState(genesis, tool_package);
  return events.map((event, position) => {
    const { state: after, sealed } = foldOrKeep(before, event);
    const folded = { position: position as Position, event, before, after, sealed };
    before = after;
    return folded;
  });
}

function foldOrKeep(state: SessionState, event: IngressEvent): ReturnType<typeof sealTranscript> {
  try {
    return sealTranscript(evolve(state, event));
  } catch (error) {
    if (error instanceof InvariantError || error instanceof TypeError) return { state, sealed: null };
    throw error;
  }
}

export function judge(folded: readonly FoldedEvent[]): readonly LawBreach[] {
  const check = newLawCheck();
  for (const [position, one] of folded.entries()) check.add({ ...one, position: position as Position });
  return check.breaches();
}

/** A breach without its message. */
export type Finding = Omit<LawBreach, 'message'>;

export const findings = (folded: readonly FoldedEvent[]): readonly Finding[] =>
  judge(folded).map(({ message: _message, ...finding }) => finding);
