// The cards of what waits keep their places.
import { expect, test } from 'vitest';
import { type Card, isOver, withCard, withRead } from '../../inspector/page/question-cards.ts';
import type { Outcome, Question } from '../../inspector/protocol.ts';

const question = (digest: string): Question => ({ digest }) as unknown as Question;
const read = (cards: readonly Card[], ...digests: readonly string[]): readonly Card[] =>
  withRead(cards, [], digests.map(question));
const digestsOf = (cards: readonly Card[]): readonly string[] => cards.map((card) => card.question.digest);
const taken = { taken: true, position: 3, session_id: 's' } as unknown as Outcome;
const refused = { taken: false, refused: { code: 'cannot', message: 'no', advice: '' }, first: null } as Outcome;

test('a new question comes last, wherever the list has it', () => {
  expect(digestsOf(read(read([], 'a', 'b'), 'urgent', 'a', 'b'))).toEqual(['a', 'b', 'urgent']);
});

test('a question that does not wait any more keeps its place, and takes no answer unless it waits again', () => {
  const gone = read(read([], 'a', 'b', 'c'), 'a', 'c');
  expect(digestsOf(gone)).toEqual(['a', 'b', 'c']);
  expect(gone.map((card) => isOver(card))).toEqual([false, true, false]);
  expect(read(gone, 'a', 'b', 'c').map((card) => isOver(card))).toEqual([false, false, false]);
});

test('an answered card is over, also in a list that was read before the answer, and does not come back', () => {
  const cards = withCard(read([], 'a', 'b'), 'a', { given: { outcome: taken, done: 'allowed' } });
  expect(read(cards, 'a', 'b').map((card) => isOver(card))).toEqual([true, false]);
  const [answered, other] = cards as [Card, Card];
  expect(digestsOf(withRead([other], [answered], ['a', 'b'].map(question)))).toEqual(['b']);
});

test('an answer that was refused leaves its card open; one on its way is not over', () => {
  const given = { outcome: refused, done: 'allowed' };
  expect(withCard(read([], 'a'), 'a', { given }).map((card) => isOver(card))).toEqual([false]);
  expect(read(withCard(read([], 'a'), 'a', { isSent: true })).map((card) => isOver(card))).toEqual([false]);
});
