// What a person does to a session: interrupt, pause, resume, another policy, a fork; and what came of it.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { SessionId } from '../../schemas/ids.ts';
import { visible } from '../../src/shown/visible.ts';
import type { Act, Outcome } from '../protocol.ts';
import { refusalOf, useApp } from './app.ts';
import { Careful, SureButton } from './careful.tsx';
import { To } from './links.tsx';
import { At, RefusalNote, eventName } from './panel.tsx';

const PRESETS = ['default', 'steerable', 'september', 'careful', 'allow_all', 'read_only'] as const;

/** `at`: how many events a fork takes over. */
export function Acts({ session, at }: { readonly session: SessionId; readonly at: number }): JSX.Element {
  const { link } = useApp();
  const outcome = useSignal<{ readonly outcome: Outcome; readonly done: string } | null>(null);
  const input = useSignal('');
  const policy = useSignal<string>('careful');
  const act = (given: Act, done: string): void => {
    outcome.value = null;
    link.ask('act', given).then(
      (answer) => (outcome.value = { outcome: answer, done }),
      (error: unknown) => (outcome.value = { outcome: { taken: false, refused: refusalOf(error), first: null }, done }),
    );
  };
  const session_id = session;
  return (
    <Careful class="acts" label="act on the session" shows={session_id}>
      <h2>Act</h2>
      <div class="steps">
        <SureButton onPress={() => act({ session_id, kind: 'pause' }, 'paused')}>pause</SureButton>
        <SureButton onPress={() => act({ session_id, kind: 'resume' }, 'resumed')}>resume</SureButton>
        <label>
          say to the model{' '}
          <input type="text" value={input.value} onInput={({ currentTarget: { value } }) => (input.value = value)} />
        </label>
        <SureButton
          onPress={() =>
            act(
              { session_id, kind: 'interrupt', input: input.value === '' ? null : input.value, reason: null },
              'interrupted',
            )
          }
        >
          interrupt
        </SureButton>
        <label>
          policy{' '}
          <select value={policy.value} onChange={({ currentTarget: { value } }) => (policy.value = value)}>
            {PRESETS.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <SureButton
          onPress={() => act({ session_id, kind: 'policy', policy: policy.value }, `the policy is ${policy.value}`)}
        >
          set (revokes grants)
        </SureButton>
        <Careful class="steps" label="fork" shows={String(at)}>
          <SureButton onPress={() => act({ session_id, kind: 'fork', at, run: 'pause', to: null }, 'forked')}>
            fork the first {at.toLocaleString('en')} events
          </SureButton>
        </Careful>
      </div>
      {outcome.value !== null && <OutcomeNote outcome={outcome.value.outcome} done={outcome.value.done} />}
    </Careful>
  );
}

export function OutcomeNote({ outcome, done }: { readonly outcome: Outcome; readonly done: string }): JSX.Element {
  if (outcome.taken) {
    return (
      <p class="done" role="status">
        {done}
        {outcome.position !== null && ` (${eventName(outcome.position)})`}:{' '}
        <To to={{ screen: 'session', of: outcome.session_id, at: outcome.position }}>{visible(outcome.session_id)}</To>
      </p>
    );
  }
  const { first, refused } = outcome;
  if (first === null) return <RefusalNote refusal={refused} />;
  return (
    <p class="fault" role="alert">
      {first.by === null ? 'Somebody' : visible(first.by)} was first: {first.what} at <At ms={first.at_ms} /> (
      {eventName(first.position)}){first.message !== null && `: ${visible(first.message)}`}
    </p>
  );
}
