// Everything that waits for a person, of all sessions. While the pointer or the keyboard is in the list, nothing in it changes
// its place.
import type { JSX, RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Waiting } from '../../protocol.ts';
import { useApp, useAsk } from '../app.ts';
import { OutcomeNote } from '../acts.tsx';
import { Answered, Heading, count } from '../panel.tsx';
import { QuestionCard } from '../question-card.tsx';
import { type Card, isAnswered, isOver, withCard, withRead } from '../question-cards.ts';
import { Said } from '../text.tsx';

/** How often what waits is read again, in milliseconds; what this page follows comes by itself. */
const READ_AGAIN_MS = 2_000;
/** So many of the last answers stay on the screen. */
const GIVEN_SHOWN = 5;

export function WaitingQuestions(): JSX.Element {
  const { engine, live } = useApp();
  const tick = useSignal(0);
  useEffect(() => {
    const timer = setInterval(() => (tick.value += 1), READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const asked = useAsk('waiting', engine.value === null ? null : {}, live.value + tick.value);
  const canAnswer = engine.value?.scope === 'operator';
  const { list, cards, past, change, tidyUnlessHeld } = useCards(asked.value);
  const open = cards.filter((card) => !isOver(card)).length;
  return (
    <>
      <Heading>Waiting</Heading>
      {engine.value === null && <p class="note">This page has no engine, so nothing waits here.</p>}
      {engine.value !== null && !canAnswer && (
        <p class="note">
          This page may only read. <code>refold open</code> without <code>--read-only</code> opens one that answers.
        </p>
      )}
      <Answered asked={asked} waiting="reading what waits …">
        {({ unread }) => (
          <>
            <p class="note" role="status">
              {open === 0 ? 'nothing waits for a person' : count(open, 'question')}
            </p>
            <div ref={list} onPointerLeave={tidyUnlessHeld} onFocusOut={() => queueMicrotask(tidyUnlessHeld)}>
              {cards.map((card) => (
                <QuestionCard
                  key={card.question.digest}
                  card={card}
                  canAnswer={canAnswer}
                  onSent={() => change(card.question.digest, { isSent: true, given: null })}
                  onGiven={(given) => {
                    change(card.question.digest, { isSent: false, given });
                    tick.value += 1;
                  }}
                />
              ))}
            </div>
            {past
              .slice(-GIVEN_SHOWN)
              .map(
                ({ question, given }) =>
                  given !== null && <OutcomeNote key={question.digest} outcome={given.outcome} done={given.done} />,
              )}
            {unread.map(({ session_id, message }) => (
              <p key={session_id} class="fault">
                <Said text={session_id} />: <Said text={message} />
              </p>
            ))}
          </>
        )}
      </Answered>
    </>
  );
}

interface Cards {
  readonly list: RefObject<HTMLDivElement>;
  readonly cards: readonly Card[];
  /** Answered cards that are not in the list any more. */
  readonly past: readonly Card[];
  readonly change: (digest: string, to: Partial<Card>) => void;
  /** Takes out what is answered, unless somebody could be about to press something in the list. */
  readonly tidyUnlessHeld: () => void;
}

function useCards(read: Waiting | null): Cards {
  const cards = useSignal<readonly Card[]>([]);
  const past = useSignal<readonly Card[]>([]);
  const list = useRef<HTMLDivElement>(null);
  const tidyUnlessHeld = (): void => {
    const over = cards.value.filter((card) => isOver(card));
    if (over.length === 0 || isHeld(list.current)) return;
    past.value = [...past.value, ...over.filter((card) => isAnswered(card))];
    cards.value = cards.value.filter((card) => !isOver(card));
  };
  useEffect(() => {
    if (read === null) return;
    cards.value = withRead(cards.value, past.value, read.questions);
    tidyUnlessHeld();
  }, [read]);
  return {
    list,
    cards: cards.value,
    past: past.value,
    change: (digest, to) => {
      cards.value = withCard(cards.value, digest, to);
      tidyUnlessHeld();
    },
    tidyUnlessHeld,
  };
}

/** Whether the pointer is in the list, or the keyboard. A button that was clicked has the focus too, but is not held by it. */
const isHeld = (list: HTMLElement | null): boolean =>
  list !== null && (list.matches(':hover') || list.querySelector(':focus-visible') !== null);
