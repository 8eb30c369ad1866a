// One session: what it is now, a bar over all positions, its turns with text, calls and results, and every event as a row.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { SessionFacts } from '../../protocol.ts';
import { type SourceNow, useApp, useAsk } from '../app.ts';
import { Bar } from '../bar.tsx';
import { Answered, At, Heading, count } from '../panel.tsx';
import { fragmentOf } from '../route.ts';
import { Said, Shown } from '../text.tsx';
import { VerdictMarks } from '../verdict-lines.tsx';
import { Acts } from '../acts.tsx';
import { Events } from './session-events.tsx';
import { Turns } from './session-turns.tsx';

export interface SessionProps {
  readonly of: string;
  readonly source: SourceNow;
  /** The selected event; null for the last one. */
  readonly at: number | null;
}

export function Session({ of, source, at }: SessionProps): JSX.Element {
  const facts = useAsk('session', { source: source.source }, source.news);
  const view = useSignal<'turns' | 'events'>('turns');
  const { progress } = source;
  const selected = at ?? Math.max(0, progress.folded - 1);
  const go = (position: number): void => {
    window.location.hash = fragmentOf({ screen: 'session', of, at: position });
  };
  return (
    <>
      <Heading>
        Session <Said text={source.name} />
      </Heading>
      <Answered asked={facts} waiting="reading the session …">
        {(value) => <Facts facts={value} />}
      </Answered>
      <Bar source={source} selected={selected} onSeek={go} />
      {/* Above what grows while a model writes: what moves takes no press. */}
      {source.can.act && source.session_id !== null && <Acts session={source.session_id} at={selected + 1} />}
      <div class="tabs" role="tablist" aria-label="what is shown">
        {(['turns', 'events'] as const).map((name) => (
          <button
            key={name}
            type="button"
            role="tab"
            aria-selected={view.value === name}
            onClick={() => (view.value = name)}
          >
            {name}
          </button>
        ))}
      </div>
      {view.value === 'turns' ? (
        <Turns of={of} source={source} at={at} known={facts.value?.now?.turns ?? 0} />
      ) : (
        <Events of={of} source={source} selected={selected} onSelect={go} />
      )}
      <Writing source={source.source} />
    </>
  );
}

function Facts({ facts }: { readonly facts: SessionFacts }): JSX.Element {
  const { now, genesis, verdicts } = facts;
  return (
    <section class="facts" aria-label="what the session is now">
      <VerdictMarks verdicts={verdicts} />
      {now !== null && (
        <dl class="pairs">
          <dt>status</dt>
          <dd class={`status ${now.status}`}>
            {now.status}
            {now.run !== null && ` · ${now.run.phase}, turn ${now.run.turn}`}
          </dd>
          <dt>events</dt>
          <dd>
            {now.at.toLocaleString('en')} in {count(now.turns, 'turn')}
          </dd>
          <dt>last event</dt>
          <dd>
            <At ms={now.at_ms} />
          </dd>
          <dt>state digest</dt>
          <dd>
            <code class="digest">{now.state_digest}</code>
          </dd>
          <dt>chain</dt>
          <dd>
            <code class="digest">{now.chain}</code>
          </dd>
          <dt>profile</dt>
          <dd>
            <Said text={now.profile} />
          </dd>
          {now.owed.length > 0 && (
            <>
              <dt>owed</dt>
              <dd>{now.owed.map(({ kind }) => kind).join(', ')}</dd>
            </>
          )}
        </dl>
      )}
      {genesis?.forked_from !== null && genesis !== null && (
        <p class="note">
          forked from <Said text={genesis.forked_from.session_id} /> at {genesis.forked_from.position}
        </p>
      )}
    </section>
  );
}

/** What the model writes now; it is not recorded. */
function Writing({ source }: { readonly source: number }): JSX.Element | null {
  const { deltas } = useApp();
  const now = deltas.value.filter((delta) => delta.source === source);
  if (now.length === 0) return null;
  return (
    <section class="writing" aria-label="the model writes" aria-live="polite">
      <h2>The model writes (not recorded)</h2>
      {now.map(({ turn, text }) => (
        <Shown key={turn} source={source} shown={{ text, rest: 0, ref: null }} />
      ))}
    </section>
  );
}
