// Where two sessions first differ.
import { visible } from '../../../src/shown/visible.ts';
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { Comparison } from '../../protocol.ts';
import { type SourceNow, nameOf, useApp, useAsk } from '../app.ts';
import { FileChooser } from '../files.tsx';
import { To } from '../links.tsx';
import { Answered, Heading, JsonDiffTable } from '../panel.tsx';
import { fragmentOf } from '../route.ts';
import { Said } from '../text.tsx';

export interface CompareProps {
  readonly a: SourceNow | null;
  readonly b: SourceNow | null;
}

export function Compare({ a, b }: CompareProps): JSX.Element {
  const { sources } = useApp();
  const strict = useSignal(false);
  const go = (side: 'a' | 'b', of: string): void => {
    const known = { a: a === null ? null : nameOf(a), b: b === null ? null : nameOf(b) };
    window.location.hash = fragmentOf({ screen: 'compare', ...known, [side]: of === '' ? null : of });
  };
  const asked = useAsk('compare', a === null || b === null ? null : { a: a.source, b: b.source, strict: strict.value });
  return (
    <>
      <Heading>Compare</Heading>
      <FileChooser />
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {(['a', 'b'] as const).map((side) => (
          <label key={side}>
            {side}{' '}
            <select
              value={side === 'a' ? (a === null ? '' : nameOf(a)) : b === null ? '' : nameOf(b)}
              onChange={({ currentTarget: { value } }) => go(side, value)}
            >
              <option value="">choose an opened session</option>
              {sources.value.map((source) => (
                <option key={source.source} value={nameOf(source)}>
                  {visible(source.name)}
                </option>
              ))}
            </select>
          </label>
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

function Found(props: { readonly a: SourceNow; readonly b: SourceNow; readonly comparison: Comparison }): JSX.Element {
  const { a, b, comparison } = props;
  const { same, first, state_after_first, state_at_end, events, divergence } = comparison;
  return (
    <section aria-label="comparison">
      {divergence !== null && (
        <p class="fault">
          a stream does not fold as recorded, at position {divergence.fault.position}:{' '}
          <Said text={divergence.fault.message} />
        </p>
      )}
      <p role="status">
        {same ? 'They are the same' : 'They differ'}: {events.a.toLocaleString('en')} and{' '}
        {events.b.toLocaleString('en')} events.
      </p>
      {first !== null && (
        <>
          <h2>First at position {first.position}</h2>
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
