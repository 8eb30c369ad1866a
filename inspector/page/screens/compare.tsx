// Where two sessions first differ.
import { visible } from '../../../src/shown/visible.ts';
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { Comparison, SessionRow } from '../../protocol.ts';
import { type SourceNow, nameOf, useApp, useAsk } from '../app.ts';
import { FileChooser } from '../files.tsx';
import { To } from '../links.tsx';
import { Answered, Heading, JsonDiffTable, eventName } from '../panel.tsx';
import { fragmentOf } from '../route.ts';
import { Said } from '../text.tsx';

export interface CompareProps {
  readonly a: SourceNow | null;
  readonly b: SourceNow | null;
}

export function Compare({ a, b }: CompareProps): JSX.Element {
  const { engine, route } = useApp();
  const listed = useAsk('sessions', engine.value === null ? null : { limit: LISTED });
  const strict = useSignal(false);
  const go = (side: 'a' | 'b', of: string): void => {
    // The address knows a session that is still being opened.
    const known = route.value.screen === 'compare' ? route.value : { a: null, b: null };
    window.location.hash = fragmentOf({ ...known, screen: 'compare', [side]: of === '' ? null : of });
  };
  const asked = useAsk('compare', a === null || b === null ? null : { a: a.source, b: b.source, strict: strict.value });
  return (
    <>
      <Heading>Compare</Heading>
      <FileChooser />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {(
          [
            ['a', a],
            ['b', b],
          ] as const
        ).map(([side, chosen]) => (
          <SessionChoice
            key={side}
            side={side}
            chosen={chosen}
            listed={listed.value?.sessions ?? NONE}
            onChoice={(of) => go(side, of)}
          />
        ))}
        <label>
          <input
            type="checkbox"
            checked={strict.value}
            onChange={({ currentTarget: { checked } }) => (strict.value = checked)}
          />{' '}
          also ids, times and digests
        </label>
      </form>
      {a !== null && b !== null && (
        <Answered asked={asked} waiting="folding both …">
          {(comparison) => <Found a={a} b={b} comparison={comparison} />}
        </Answered>
      )}
    </>
  );
}

/** Sessions of the engine that can be chosen here; any other one is opened from the list of sessions first. */
const LISTED = 200;
const NONE: readonly SessionRow[] = [];

interface SessionChoiceProps {
  readonly side: 'a' | 'b';
  readonly chosen: SourceNow | null;
  readonly listed: readonly SessionRow[];
  readonly onChoice: (of: string) => void;
}

/** What is open, and what the engine has: a session that is chosen is opened. */
function SessionChoice({ side, chosen, listed, onChoice }: SessionChoiceProps): JSX.Element {
  const { sources } = useApp();
  const isOpen = (id: string): boolean => sources.value.some((source) => nameOf(source) === id);
  return (
    <label>
      {side}{' '}
      <select
        value={chosen === null ? '' : nameOf(chosen)}
        onChange={({ currentTarget: { value } }) => onChoice(value)}
      >
        <option value="">choose a session</option>
        <optgroup label="open here">
          {sources.value.map((source) => (
            <option key={source.source} value={nameOf(source)}>
              {visible(source.name)}
            </option>
          ))}
        </optgroup>
        <optgroup label="of the engine">
          {listed
            .filter(({ session_id }) => !isOpen(session_id))
            .map(({ session_id, card }) => (
              <option key={session_id} value={session_id}>
                {visible(card.title === null ? session_id : `${session_id} ${card.title}`)}
              </option>
            ))}
        </optgroup>
      </select>
    </label>
  );
}

function Found(props: { readonly a: SourceNow; readonly b: SourceNow; readonly comparison: Comparison }): JSX.Element {
  const { a, b, comparison } = props;
  const { same, first, state_after_first, state_at_end, events, divergence } = comparison;
  return (
    <section aria-label="comparison">
      {divergence !== null && (
        <p class="fault">
          a stream does not fold as recorded, at {eventName(divergence.fault.position)}:{' '}
          <Said text={divergence.fault.message} />
        </p>
      )}
      <p role="status">
        {same ? 'They are the same' : 'They differ'}: {events.a.toLocaleString('en')} and{' '}
        {events.b.toLocaleString('en')} events.
      </p>
      {first !== null && (
        <>
          <h2>First at {eventName(first.position)}</h2>
          <p>
            <To to={{ screen: 'session', of: nameOf(a), at: Math.max(0, first.position) }}>open a there</To> (
            {first.a ?? 'it has ended'}),{' '}
            <To to={{ screen: 'session', of: nameOf(b), at: Math.max(0, first.position) }}>open b there</To> (
            {first.b ?? 'it has ended'})
          </p>
          <JsonDiffTable label="the first difference" diff={first.paths} a={a.name} b={b.name} />
        </>
      )}
      {state_after_first !== null && (
        <>
          <h2>The states after it</h2>
          <JsonDiffTable label="the states after it" diff={state_after_first} a={a.name} b={b.name} />
        </>
      )}
      <h2>The states at the end</h2>
      <JsonDiffTable label="the states at the end" diff={state_at_end} a={a.name} b={b.name} />
    </section>
  );
}
