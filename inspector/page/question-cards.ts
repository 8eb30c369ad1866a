// The cards of what waits, in the order in which they are shown. A card stays in its place, whatever happens to its question:
// another one under the pointer would take a press that was meant for this one. New questions come after all others.
import type { Outcome, Question } from '../protocol.ts';

export interface Card {
  readonly question: Question;
  /** Whether it was in the last list of what waits. */
  readonly waits: boolean;
  /** An answer is on its way. */
  readonly isSent: boolean;
  /** What came of the last answer that was given here; null before it. */
  readonly given: Given | null;
}

export interface Given {
  readonly outcome: Outcome;
  /** What was answered, in words. */
  readonly done: string;
}

/** Whether its question is answered, as far as this page knows. */
export const isAnswered = ({ given }: Card): boolean =>
  given !== null && (given.outcome.taken || given.outcome.first !== null);

/** Whether it takes no answer any more. */
export const isOver = (card: Card): boolean => isAnswered(card) || (!card.waits && !card.isSent);

/** The cards after a list was read; `past` are answered cards that are not shown any more. */
export function withRead(cards: readonly Card[], past: readonly Card[], read: readonly Question[]): readonly Card[] {
  const listed = new Map(read.map((question) => [question.digest, question]));
  const kept = cards.map((card) => {
    const question = listed.get(card.question.digest);
    if (question === undefined) return { ...card, waits: false };
    return isAnswered(card) ? card : { ...card, question, waits: true };
  });
  const known = new Set([...cards, ...past].map(({ question }) => question.digest));
  const added = read.filter(({ digest }) => !known.has(digest));
  return [...kept, ...added.map((question) => ({ question, waits: true, isSent: false, given: null }))];
}

/** The cards with a change of one of them. */
export const withCard = (cards: readonly Card[], digest: string, change: Partial<Card>): readonly Card[] =>
  cards.map((card) => (card.question.digest === digest ? { ...card, ...change } : card));
