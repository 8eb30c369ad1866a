// The verdicts of the proof: one line each, never merged into one mark.
import type { JSX } from 'preact';
import type { Verdict, Verdicts } from '../protocol.ts';
import { eventName } from './panel.tsx';
import { visible } from '../../src/shown/visible.ts';

const NAMES = ['chain', 'fold', 'head', 'blobs'] as const;
const SIGNS = { none: '–', cannot: '–', checking: '…', good: '✓', bad: '✗' } as const;
const WORDS = {
  none: 'not asked',
  cannot: 'cannot be checked here',
  checking: 'is being checked',
  good: 'holds',
  bad: 'does not hold',
} as const;

export function VerdictLines({ verdicts }: { readonly verdicts: Verdicts }): JSX.Element {
  return (
    <dl class="verdicts">
      {NAMES.map((name) => (
        <div key={name} class={`verdict ${verdicts[name].state}`}>
          <dt>
            <Sign verdict={verdicts[name]} /> {name}
          </dt>
          <dd>
            {visible(verdicts[name].line)}
            <Count verdict={verdicts[name]} />
            <FaultLine verdict={verdicts[name]} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The verdicts as four small marks with their names, for a row or the head of a screen. */
export function VerdictMarks({ verdicts }: { readonly verdicts: Verdicts }): JSX.Element {
  return (
    <span class="verdict-marks">
      {NAMES.map((name) => (
        <span key={name} class={`verdict ${verdicts[name].state}`} title={visible(verdicts[name].line)}>
          <Sign verdict={verdicts[name]} /> {name}
        </span>
      ))}
    </span>
  );
}

const Sign = ({ verdict }: { readonly verdict: Verdict }): JSX.Element => (
  <>
    <span aria-hidden="true">{SIGNS[verdict.state]}</span>
    <span class="heard">{WORDS[verdict.state]}: </span>
  </>
);

function Count({ verdict: { state, checked, total } }: { readonly verdict: Verdict }): JSX.Element | null {
  if (state !== 'checking') return null;
  return (
    <span class="note">
      {' '}
      {checked.toLocaleString('en')}
      {total !== null && ` of ${total.toLocaleString('en')}`}
    </span>
  );
}

function FaultLine({ verdict: { fault } }: { readonly verdict: Verdict }): JSX.Element | null {
  if (fault === null) return null;
  return (
    <p class="fault">
      {eventName(fault.position)}: {visible(fault.message)}
      {fault.recorded !== null && (
        <>
          <br />
          recorded <code>{visible(fault.recorded)}</code>
        </>
      )}
      {fault.replayed !== null && (
        <>
          <br />
          here <code>{visible(fault.replayed)}</code>
        </>
      )}
    </p>
  );
}
