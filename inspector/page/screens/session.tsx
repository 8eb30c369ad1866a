// One session: what it is now, a bar over all positions, its turns with text, calls and results, and every event as a row.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { Row, SessionFacts, TurnCard } from '../../protocol.ts';
import { type SourceNow, useApp, useAsk } from '../app.ts';
import { Bar } from '../bar.tsx';
import { CallLink, To } from '../links.tsx';
import { Answered, At, Heading, count } from '../panel.tsx';
import { fragmentOf } from '../route.ts';
import { inWords } from '../spans.tsx';
import { Said, Shown, ShownWithFiles } from '../text.tsx';
import { VerdictMarks } from '../verdict-lines.tsx';
import { WindowedList } from '../windowed-list.tsx';
import { useWindow } from '../use-window.ts';
import { Acts } from '../acts.tsx';

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
        <Turns of={of} source={source} at={at} />
      ) : (
        <Events of={of} source={source} selected={selected} onSelect={go} />
      )}
      <Writing source={source.source} />
      {source.can.act && source.session_id !== null && <Acts session={source.session_id} at={selected + 1} />}
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

interface ListProps {
  readonly of: string;
  readonly source: SourceNow;
}

const TURNS = 20;

function Turns({ of, source, at }: ListProps & { readonly at: number | null }): JSX.Element {
  const from = useSignal<number | null>(null);
  const found = useAsk('turnAt', at === null ? null : { source: source.source, position: at });
  useEffect(() => {
    const index = found.value?.index ?? null;
    if (index !== null) from.value = Math.max(0, index - 2);
  }, [found.value]);
  const asked = useAsk('turns', { source: source.source, from: from.value ?? 0, limit: TURNS }, source.news);
  return (
    <Answered asked={asked} waiting="folding the first turns …">
      {({ turns, total, from: first }) => (
        <section aria-label="turns">
          {turns.length === 0 && <p class="note">no turn yet</p>}
          {turns.map((turn) => (
            <Card key={turn.index} of={of} source={source} turn={turn} isHere={isWithin(turn, at)} />
          ))}
          <p class="pager">
            {first > 0 && (
              <button type="button" onClick={() => (from.value = Math.max(0, first - TURNS))}>
                earlier turns
              </button>
            )}
            <span class="note">
              turns {first + 1} to {first + turns.length} of {total.toLocaleString('en')}
            </span>
            {first + turns.length < total && (
              <button type="button" onClick={() => (from.value = first + TURNS)}>
                later turns
              </button>
            )}
          </p>
        </section>
      )}
    </Answered>
  );
}

const isWithin = ({ first, last }: TurnCard, at: number | null): boolean => at !== null && at >= first && at <= last;

function Card({
  of,
  source,
  turn,
  isHere,
}: ListProps & { readonly turn: TurnCard; readonly isHere: boolean }): JSX.Element {
  return (
    <article class={isHere ? 'turn here' : 'turn'} aria-label={`turn ${turn.turn} of ${turn.run_id}`}>
      <h2>
        <To to={{ screen: 'turn', of, run: turn.run_id, turn: turn.turn }}>
          Turn {turn.turn} of <Said text={turn.run_id} />
        </To>{' '}
        <span class="note">
          events {turn.first} to {turn.last}
          {turn.over_ms !== null && `, ${inWords(turn.over_ms - turn.began_ms)}`}
          {turn.usage !== null &&
            `, ${turn.usage.input_tokens.toLocaleString('en')} tokens in, ${turn.usage.output_tokens.toLocaleString('en')} out`}
        </span>
      </h2>
      {turn.inputs.map((input, index) => (
        <div key={index} class="input">
          <h3>a person wrote</h3>
          <ShownWithFiles source={source.source} shown={input} />
        </div>
      ))}
      {turn.failures.map((failure) => (
        <p key={failure.position} class="fault">
          the model failed ({failure.code}): <Said text={failure.message} />
          {failure.again ? ' – it was asked again' : ''}
        </p>
      ))}
      {turn.text !== null && (
        <div class="answer">
          <h3>the model wrote</h3>
          <ShownWithFiles source={source.source} shown={turn.text} />
        </div>
      )}
      {turn.calls.length > 0 && (
        <ol class="calls" aria-label="calls">
          {turn.calls.map((call) => (
            <li key={call.index} class={`call ${call.status}`}>
              <CallLink of={of} address={call}>
                <Said text={call.tool_name} />
              </CallLink>{' '}
              <code>
                <Said text={call.arguments.text} />
              </code>{' '}
              <span class={`status ${call.status}`}>
                {call.status}
                {call.code !== null && ` (${call.code})`}
                {call.ran_ms !== null && ` after ${inWords(call.ran_ms)}`}
              </span>
              {call.output !== null && (
                <details>
                  <summary>result</summary>
                  <ShownWithFiles source={source.source} shown={call.output} />
                </details>
              )}
            </li>
          ))}
        </ol>
      )}
      {turn.ending !== null && (
        <p class={`ending ${turn.ending.outcome}`}>
          the run ended: {turn.ending.outcome}
          {turn.ending.code !== null && ` (${turn.ending.code})`} <Said text={turn.ending.message ?? ''} />
        </p>
      )}
    </article>
  );
}

const ROW_HEIGHT = 24;

interface EventsProps extends ListProps {
  readonly selected: number;
  readonly onSelect: (position: number) => void;
}

function Events({ of, source, selected, onSelect }: EventsProps): JSX.Element {
  const total = source.progress.total ?? source.progress.read;
  const rows = useWindow(source, total);
  return (
    <div class="events">
      <WindowedList
        label="events"
        rows={total}
        rowHeight={ROW_HEIGHT}
        selected={Math.min(selected, total - 1)}
        onSelect={onSelect}
        onShown={rows.show}
        draw={(position) => (
          <EventRow of={of} row={rows.at(position)} position={position} checked={source.progress.folded} />
        )}
      />
      <EventPane of={of} source={source} position={selected} />
    </div>
  );
}

interface EventRowProps {
  readonly of: string;
  readonly row: Row | null;
  readonly position: number;
  readonly checked: number;
}

function EventRow({ of, row, position, checked }: EventRowProps): JSX.Element {
  if (row === null) {
    return (
      <>
        <span role="gridcell" class="number">
          {position}
        </span>
        <span role="gridcell" class="note">
          …
        </span>
      </>
    );
  }
  return (
    <>
      <span role="gridcell" class="number">
        {position}
      </span>
      <span role="gridcell" class="when">
        <At ms={row.at_ms} />
      </span>
      <span role="gridcell" class={`kind ${row.marks.join(' ')}`}>
        {row.kind}
      </span>
      <span role="gridcell" class="what">
        {row.call === null ? (
          <Said text={row.text} />
        ) : (
          <CallLink of={of} address={row.call}>
            <Said text={row.text} />
          </CallLink>
        )}
      </span>
      {position >= checked && (
        <span role="gridcell" class="unchecked">
          unchecked
        </span>
      )}
    </>
  );
}

function EventPane({ of, source, position }: ListProps & { readonly position: number }): JSX.Element {
  const asked = useAsk('event', { source: source.source, position });
  return (
    <aside class="event" aria-label={`event ${position}`}>
      <Answered asked={asked} waiting="reading the event …">
        {({ event, commit, checked, event_digest, position: shown }) => (
          <>
            <h2>Event {shown}</h2>
            <p class="note">
              in the commit of {count(commit.events, 'event')} from {commit.position};{' '}
              {checked ? 'folded here to its recorded digest' : 'unchecked'};{' '}
              <To to={{ screen: 'state', of, at: shown + 1, path: '' }}>state after it</To>;{' '}
              <To to={{ screen: 'tools', of, at: shown + 1, against: null }}>tools after it</To>
            </p>
            <Shown source={source.source} shown={event} />
            <dl class="pairs">
              <dt>event digest</dt>
              <dd>
                <code class="digest">{event_digest}</code>
              </dd>
              <dt>state digest</dt>
              <dd>
                <code class="digest">{commit.state_digest}</code>
              </dd>
              <dt>chain</dt>
              <dd>
                <code class="digest">{commit.chain}</code>
              </dd>
            </dl>
          </>
        )}
      </Answered>
    </aside>
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
