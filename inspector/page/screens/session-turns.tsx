// The turns of a session, in pages: what a person wrote, what the model wrote, its calls and their results.
import type { JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { TurnCard, TurnsWindow } from '../../protocol.ts';
import { type SourceNow, untilOver, useAsk } from '../app.ts';
import { CallLink, To } from '../links.tsx';
import { Answered, Pager } from '../panel.tsx';
import { inWords } from '../spans.tsx';
import { Said, ShownWithFiles } from '../text.tsx';

export interface ListProps {
  readonly of: string;
  readonly source: SourceNow;
}

const TURNS = 20;

export interface TurnsProps extends ListProps {
  readonly at: number | null;
  /** How many turns are folded. */
  readonly known: number;
}

export function Turns({ of, source, at, known }: TurnsProps): JSX.Element {
  const from = useSignal<number | null>(null);
  const found = useAsk('turnAt', at === null ? null : { source: source.source, position: at });
  useEffect(() => {
    const index = found.value?.index ?? null;
    if (index !== null) from.value = Math.max(0, index - 2);
  }, [found.value]);
  const asked = useAsk(
    'turns',
    { source: source.source, from: from.value ?? 0, limit: TURNS },
    untilOver(source, isWholePage),
  );
  // The same elements while the same is shown: the fold tells of itself ten times a second.
  const cards = useMemo(
    () =>
      asked.value?.turns.map((turn) => (
        <Card key={turn.index} of={of} source={source} turn={turn} isHere={isWithin(turn, at)} />
      )),
    [asked.value, of, source.source, at],
  );
  return (
    <Answered asked={asked} waiting="folding the first turns …">
      {({ turns, total, from: first }) => (
        <section aria-label="turns">
          {turns.length === 0 && <p class="note">no turn yet</p>}
          {cards}
          <Pager
            first={first}
            shown={turns.length}
            total={Math.max(total, known)}
            size={TURNS}
            onFrom={(next) => (from.value = next)}
          />
        </section>
      )}
    </Answered>
  );
}

/** Whether nothing that is folded later changes this page. */
const isWholePage = ({ turns }: TurnsWindow): boolean => turns.length === TURNS && turns.at(-1)?.over_ms !== null;

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
            <CallItem key={call.index} of={of} source={source} call={call} />
          ))}
        </ol>
      )}
      {turn.calls_total > turn.calls.length && (
        <p class="note">
          and {(turn.calls_total - turn.calls.length).toLocaleString('en')} more calls:{' '}
          <To to={{ screen: 'turn', of, run: turn.run_id, turn: turn.turn }}>the whole turn</To>
        </p>
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

interface CallItemProps extends ListProps {
  readonly call: TurnCard['calls'][number];
}

const CallItem = ({ of, source, call }: CallItemProps): JSX.Element => (
  <li class={`call ${call.status}`}>
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
);
