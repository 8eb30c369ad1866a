// One thing that waits for a person: what would run, what it would do, and the answers. The arguments are shown whole, and their
// digest goes with the answer: what was not shown cannot be allowed.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { visible } from '../../src/shown/visible.ts';
import type { PersonAnswer, QuestionPreview } from '../protocol.ts';
import { OutcomeNote } from './acts.tsx';
import { Allowing, Fulfilling } from './answering.tsx';
import { refusalOf, useApp } from './app.ts';
import { Careful } from './careful.tsx';
import { To } from './links.tsx';
import { DiffLines } from './panel.tsx';
import { type Card, type Given, isOver } from './question-cards.ts';
import { inWords } from './spans.tsx';
import { Said } from './text.tsx';

export interface CardProps {
  readonly card: Card;
  readonly canAnswer: boolean;
  readonly onSent: () => void;
  readonly onGiven: (given: Given) => void;
}

export function QuestionCard({ card, canAnswer, onSent, onGiven }: CardProps): JSX.Element {
  const { link } = useApp();
  const { question, given, isSent } = card;
  const { action, digest, arguments_text, title, preview } = question;
  const give = (answer: PersonAnswer, done: string): void => {
    const { session_id } = action;
    const named = preview?.state === 'shown' ? { preview: preview.digest } : {};
    onSent();
    link.ask('answer', { session_id, digest, shown: question.arguments ?? {}, ...named, answer }).then(
      (outcome) => onGiven({ outcome, done }),
      (error: unknown) => onGiven({ outcome: { taken: false, refused: refusalOf(error), first: null }, done }),
    );
  };
  return (
    <Careful
      as="article"
      class={isOver(card) ? 'question over' : 'question'}
      label={`question about ${action.tool_name}`}
      shows={JSON.stringify([arguments_text, preview])}
      isOver={isOver(card) || isSent}
    >
      <h2>
        {action.kind === 'agent.custom_tool_use' ? 'Do this for the model: ' : 'May it run '}
        <Said text={action.tool_name} />
        {action.kind === 'agent.custom_tool_use' ? '' : '?'}
      </h2>
      <p class="note">
        <To to={{ screen: 'session', of: action.session_id, at: null }}>
          <Said text={action.session_id} />
        </To>{' '}
        {title !== null && <Said text={title} />}
        {action.due_at_ms !== undefined && <Due at={action.due_at_ms} />}
      </p>
      <pre class="said arguments" tabIndex={0} aria-label="arguments">
        {arguments_text.split('\n').map(visible).join('\n')}
      </pre>
      {preview !== null && <Preview preview={preview} />}
      <p class="note">
        question <code class="digest">{digest}</code>
      </p>
      {canAnswer && question.arguments === null && (
        <p class="fault">Its arguments cannot be read here, so it can only be denied.</p>
      )}
      {canAnswer &&
        (action.kind === 'agent.tool_use' ? (
          <Allowing question={question} onAnswer={give} />
        ) : (
          <Fulfilling onAnswer={give} />
        ))}
      {isSent && (
        <p class="note" role="status">
          the answer is on its way …
        </p>
      )}
      {given !== null && <OutcomeNote outcome={given.outcome} done={given.done} />}
      {isOver(card) && given === null && (
        <p class="note" role="status">
          It does not wait any more.
        </p>
      )}
    </Careful>
  );
}

/** What the call would do. An answer from this card names what is shown here. */
function Preview({ preview }: { readonly preview: QuestionPreview }): JSX.Element {
  if (preview.state === 'awaited') return <p class="note">Its bridge is asked what the call would do …</p>;
  if (preview.state === 'none') {
    return (
      <p class="note">
        No preview: <Said text={preview.why} />
      </p>
    );
  }
  return (
    <section aria-label="what the call would do">
      <DiffLines lines={preview.lines} rest={0} />
      <p class="note">
        If you allow it, it runs only while these files are as they were. Preview{' '}
        <code class="digest">{preview.digest}</code>
      </p>
    </section>
  );
}

function Due({ at }: { readonly at: number }): JSX.Element {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const left = at - now.value;
  return <span>; {left > 0 ? `expires in ${inWords(left)}` : 'expires now'}</span>;
}
