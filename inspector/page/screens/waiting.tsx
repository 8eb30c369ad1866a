// Everything that waits for a person, of all sessions, with the answers. The arguments are shown whole, and their digest goes
// with the answer: what was not shown cannot be allowed.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { JsonObject } from '../../../schemas/json.ts';
import { visible } from '../../../src/shown/visible.ts';
import type { Outcome, PersonAnswer, Question, QuestionPreview } from '../../protocol.ts';
import { refusalOf, useApp, useAsk } from '../app.ts';
import { OutcomeNote } from '../acts.tsx';
import { into } from '../into.ts';
import { To } from '../links.tsx';
import { Answered, DiffLines, Heading, count } from '../panel.tsx';
import { inWords } from '../spans.tsx';
import { Said } from '../text.tsx';

/** How often what waits is read again, in milliseconds; what this page follows comes by itself. */
const READ_AGAIN_MS = 2_000;

interface Given {
  readonly question: Question;
  readonly outcome: Outcome;
  readonly done: string;
}

export function WaitingQuestions(): JSX.Element {
  const { engine, live } = useApp();
  const tick = useSignal(0);
  const given = useSignal<readonly Given[]>([]);
  useEffect(() => {
    const timer = setInterval(() => (tick.value += 1), READ_AGAIN_MS);
    return () => clearInterval(timer);
  }, []);
  const asked = useAsk('waiting', engine.value === null ? null : {}, live.value + tick.value);
  const canAnswer = engine.value?.scope === 'operator';
  return (
    <>
      <Heading>Waiting</Heading>
      {engine.value === null && <p class="note">This page has no engine, so nothing waits here.</p>}
      {given.value.map(({ question, outcome, done }) => (
        <OutcomeNote key={question.digest} outcome={outcome} done={done} />
      ))}
      {engine.value !== null && !canAnswer && (
        <p class="note">
          This page may only read. <code>refold open</code> without <code>--read-only</code> opens one that answers.
        </p>
      )}
      <Answered asked={asked} waiting="reading what waits …">
        {({ questions, unread }) => (
          <>
            <p class="note" role="status">
              {questions.length === 0 ? 'nothing waits for a person' : count(questions.length, 'question')}
            </p>
            {questions.map((question) => (
              <QuestionCard
                key={question.digest}
                question={question}
                canAnswer={canAnswer}
                onGiven={(outcome, done) => {
                  const others = given.value.filter((one) => one.question.digest !== question.digest);
                  given.value = [...others, { question, outcome, done }].slice(-GIVEN_SHOWN);
                  tick.value += 1;
                }}
              />
            ))}
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

const GIVEN_SHOWN = 5;

interface CardProps {
  readonly question: Question;
  readonly canAnswer: boolean;
  readonly onGiven: (outcome: Outcome, done: string) => void;
}

function QuestionCard({ question, canAnswer, onGiven }: CardProps): JSX.Element {
  const { link } = useApp();
  const { action, digest, arguments_text, title, preview } = question;
  const give = (answer: PersonAnswer, done: string): void => {
    const { session_id } = action;
    const named = preview?.state === 'shown' ? { preview: preview.digest } : {};
    link.ask('answer', { session_id, digest, shown: question.arguments ?? {}, ...named, answer }).then(
      (outcome) => onGiven(outcome, done),
      (error: unknown) => onGiven({ taken: false, refused: refusalOf(error), first: null }, done),
    );
  };
  return (
    <article class="question" aria-label={`question about ${action.tool_name}`}>
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
    </article>
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

type OnAnswer = (answer: PersonAnswer, done: string) => void;

interface AllowingProps {
  readonly question: Question;
  readonly onAnswer: OnAnswer;
}

function Allowing({ question, onAnswer }: AllowingProps): JSX.Element {
  const isWhole = question.arguments !== null;
  const session = `allow for the session (${visible(question.grants.session)})`;
  return (
    <div class="answers">
      <button type="button" disabled={!isWhole} onClick={() => onAnswer({ kind: 'allow' }, 'allowed')}>
        allow once
      </button>
      <button
        type="button"
        disabled={!isWhole}
        onClick={() => onAnswer({ kind: 'allow_for_session' }, 'allowed for the session')}
      >
        {session}
      </button>
      <Denying onAnswer={onAnswer} />
      {isWhole && question.grants.arguments.length > 0 && <ByPattern question={question} onAnswer={onAnswer} />}
      {isWhole && <Instead question={question} onAnswer={onAnswer} />}
    </div>
  );
}

function Denying({ onAnswer }: Pick<AllowingProps, 'onAnswer'>): JSX.Element {
  const message = useSignal('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onAnswer({ kind: 'deny', message: message.value }, 'denied');
      }}
    >
      <label>
        words for the model <input type="text" value={message.value} onInput={into(message)} />
      </label>{' '}
      <button type="submit">deny</button>
    </form>
  );
}

function ByPattern({ question: { grants }, onAnswer }: AllowingProps): JSX.Element {
  const [first = ''] = grants.arguments;
  const argument = useSignal(first);
  const pattern = useSignal('');
  const allow = (): void =>
    onAnswer(
      { kind: 'allow_by_pattern', argument: argument.value, pattern: pattern.value },
      'allowed, and by pattern from now on',
    );
  return (
    <details>
      <summary>allow by pattern</summary>
      <p class="note">Grants one argument by a pattern; every other argument must be as it is in this call.</p>
      <label>
        argument{' '}
        <select value={argument.value} onChange={into(argument)}>
          {grants.arguments.map((name) => (
            <option key={name} value={name}>
              {visible(name)}
            </option>
          ))}
        </select>
      </label>{' '}
      <label>
        pattern <input type="text" value={pattern.value} onInput={into(pattern)} />
      </label>{' '}
      <button type="button" disabled={pattern.value === ''} onClick={allow}>
        allow
      </button>
    </details>
  );
}

function Instead({ question, onAnswer }: AllowingProps): JSX.Element {
  const instead = useSignal(question.arguments_text);
  const message = useSignal('');
  const fault = useSignal('');
  const run = (): void => {
    const value = readObject(instead.value);
    fault.value = value === null ? 'The arguments must be one JSON object.' : '';
    if (value !== null) onAnswer({ kind: 'run_instead', arguments: value, message: message.value }, 'runs as changed');
  };
  return (
    <details>
      <summary>run with other arguments</summary>
      <label>
        arguments (JSON) <textarea rows={8} value={instead.value} onInput={into(instead)} />
      </label>
      <label>
        words for the model <input type="text" value={message.value} onInput={into(message)} />
      </label>{' '}
      <button type="button" onClick={run}>
        run this instead
      </button>
      {fault.value !== '' && <p class="fault">{fault.value}</p>}
    </details>
  );
}

function Fulfilling({ onAnswer }: { readonly onAnswer: OnAnswer }): JSX.Element {
  const text = useSignal('');
  const data = useSignal('');
  const fault = useSignal('');
  const give = (success: boolean): void => {
    const value = data.value === '' ? null : readObject(data.value);
    fault.value = data.value !== '' && value === null ? 'The data must be one JSON object.' : '';
    if (fault.value === '') {
      onAnswer({ kind: 'fulfil', success, text: text.value, data: value }, success ? 'done' : 'told that it failed');
    }
  };
  return (
    <div class="answers">
      <label>
        what the model reads <textarea rows={4} value={text.value} onInput={into(text)} />
      </label>
      <label>
        data (JSON, may be empty) <textarea rows={4} value={data.value} onInput={into(data)} />
      </label>
      {fault.value !== '' && <p class="fault">{fault.value}</p>}
      <button type="button" onClick={() => give(true)}>
        it is done
      </button>
      <button type="button" onClick={() => give(false)}>
        it failed
      </button>
    </div>
  );
}

function readObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
