// The ways to answer a question: allow, deny, allow by a pattern, run with other arguments, or do a custom call.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { JsonObject } from '../../schemas/json.ts';
import { visible } from '../../src/shown/visible.ts';
import type { PersonAnswer, QuestionAboutCall } from '../protocol.ts';
import { SureButton } from './careful.tsx';
import { into } from './into.ts';

export type OnAnswer = (answer: PersonAnswer, done: string) => void;

interface AllowingProps {
  readonly question: QuestionAboutCall;
  readonly onAnswer: OnAnswer;
}

export function Allowing({ question, onAnswer }: AllowingProps): JSX.Element {
  const isWhole = question.arguments !== null;
  const session = `allow for the session (${visible(question.grants.session)})`;
  return (
    <div class="answers">
      <SureButton disabled={!isWhole} onPress={() => onAnswer({ kind: 'allow' }, 'allowed')}>
        allow once
      </SureButton>
      <SureButton
        disabled={!isWhole}
        onPress={() => onAnswer({ kind: 'allow_for_session' }, 'allowed for the session')}
      >
        {session}
      </SureButton>
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
      <SureButton>deny</SureButton>
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
      <SureButton disabled={pattern.value === ''} onPress={allow}>
        allow
      </SureButton>
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
      <SureButton onPress={run}>run this instead</SureButton>
      {fault.value !== '' && <p class="fault">{fault.value}</p>}
    </details>
  );
}

export function Fulfilling({ onAnswer }: { readonly onAnswer: OnAnswer }): JSX.Element {
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
      <SureButton onPress={() => give(true)}>it is done</SureButton>
      <SureButton onPress={() => give(false)}>it failed</SureButton>
    </div>
  );
}

export function readObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
