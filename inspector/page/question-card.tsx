// One thing that waits for a person: what would run, what it would do, or what a call asks, and the answers. It is shown whole,
// and its digest goes with the answer: what was not shown cannot be allowed or answered.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import { visible } from '../../src/shown/visible.ts';
import type {
  AnswerGiven,
  PersonAnswer,
  Question,
  QuestionAboutCall,
  QuestionOfCall,
  QuestionPreview,
} from '../protocol.ts';
import { OutcomeNote } from './acts.tsx';
import { Allowing, Fulfilling, type OnAnswer } from './answering.tsx';
import { refusalOf, useApp } from './app.ts';
import { Careful } from './careful.tsx';
import { To } from './links.tsx';
import { DiffLines } from './panel.tsx';
import { Eliciting } from './eliciting.tsx';
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
  const { action, digest, title } = question;
  const give = (answer: PersonAnswer, done: string): void => {
    const { session_id } = action;
    onSent();
    link.ask('answer', { session_id, digest, ...shownIn(question), answer }).then(
      (outcome) => onGiven({ outcome, done }),
      (error: unknown) => onGiven({ outcome: { taken: false, refused: refusalOf(error), first: null }, done }),
    );
  };
  return (
    <Careful
      as="article"
      class={isOver(card) ? 'question over' : 'question'}
      label={`question about ${action.tool_name}`}
      shows={JSON.stringify(question.kind === 'of_call' ? action : [question.arguments_text, question.preview])}
      isOver={isOver(card) || isSent}
    >
      <h2>
        {BEFORE[action.kind]}
        <Said text={action.tool_name} />
        {AFTER[action.kind]}
      </h2>
      <p class="note">
        <To to={{ screen: 'session', of: action.session_id, at: null }}>
          <Said text={action.session_id} />
        </To>{' '}
        {title !== null && <Said text={title} />}
        {action.due_at_ms !== undefined && <Due at={action.due_at_ms} />}
      </p>
      {question.kind === 'of_call' ? <AskedByCall question={question} /> : <AboutCall question={question} />}
      <p class="note">
        question <code class="digest">{digest}</code>
      </p>
      {canAnswer && <Answers question={question} onAnswer={give} />}
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

const BEFORE = {
  'agent.custom_tool_use': 'Do this for the model: ',
  'agent.elicitation': '',
  'agent.tool_use': 'May it run ',
} as const;
const AFTER = { 'agent.custom_tool_use': '', 'agent.elicitation': ' asks', 'agent.tool_use': '?' } as const;

/** What an answer names. */
function shownIn(question: Question): Pick<AnswerGiven, 'preview' | 'shown'> {
  if (question.kind === 'of_call') return { shown: question.action.asked };
  const { preview, arguments: args } = question;
  return { shown: args ?? {}, ...(preview?.state === 'shown' ? { preview: preview.digest } : {}) };
}

function AboutCall({ question: { arguments_text, preview } }: { readonly question: QuestionAboutCall }): JSX.Element {
  return (
    <>
      <Whole text={arguments_text} label="arguments" />
      {preview !== null && <Preview preview={preview} />}
    </>
  );
}

function AskedByCall({ question }: { readonly question: QuestionOfCall }): JSX.Element {
  const { message, from, url } = question.action.asked;
  return (
    <>
      {from !== undefined && (
        <p class="note">
          for <Said text={from} />
        </p>
      )}
      <Whole text={message} label="what the call asks" />
      {url !== undefined && (
        <p>
          Look at this address yourself, if you trust it: <Said text={url} />
        </p>
      )}
    </>
  );
}

/** Text of others, all of it. */
const Whole = ({ text, label }: { readonly text: string; readonly label: string }): JSX.Element => (
  <pre class="said arguments" tabIndex={0} aria-label={label}>
    {text.split('\n').map(visible).join('\n')}
  </pre>
);

interface AnswersProps {
  readonly question: Question;
  readonly onAnswer: OnAnswer;
}

function Answers({ question, onAnswer }: AnswersProps): JSX.Element {
  if (question.kind === 'of_call') return <Eliciting question={question} onAnswer={onAnswer} />;
  return (
    <>
      {question.arguments === null && <p class="fault">Its arguments cannot be read here, so it can only be denied.</p>}
      {question.action.kind === 'agent.tool_use' ? (
        <Allowing question={question} onAnswer={onAnswer} />
      ) : (
        <Fulfilling onAnswer={onAnswer} />
      )}
    </>
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
