// What screens are made of: a part that waits for an answer, a refusal with what to do next, a difference, a time.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { visible } from '../../src/shown/visible.ts';
import type { DiffLine, Refusal, ShownDiff } from '../protocol.ts';
import type { Asked } from './app.ts';

export function RefusalNote({ refusal }: { readonly refusal: Refusal }): JSX.Element {
  return (
    <p class="fault" role="alert">
      {visible(refusal.message)}
      {refusal.advice !== '' && <> {visible(refusal.advice)}</>} <span class="code">{refusal.code}</span>
    </p>
  );
}

export interface AnsweredProps<T> {
  readonly asked: Asked<T>;
  /** What is said before the first answer. */
  readonly waiting: string;
  readonly children: (value: T) => ComponentChildren;
}

export function Answered<T>({ asked, waiting, children }: AnsweredProps<T>): JSX.Element {
  const { value, refusal, waits } = asked;
  return (
    <>
      {refusal !== null && <RefusalNote refusal={refusal} />}
      {value === null && waits && (
        <p class="note" role="status">
          {waiting}
        </p>
      )}
      {value !== null && children(value)}
    </>
  );
}

/** The heading of a screen. It takes the focus when the screen changes, so that a screen reader says where one is. */
export function Heading({ children }: { readonly children: ComponentChildren }): JSX.Element {
  const element = useRef<HTMLHeadingElement>(null);
  useEffect(() => element.current?.focus({ preventScroll: true }), []);
  return (
    <h1 tabIndex={-1} ref={element}>
      {children}
    </h1>
  );
}

/** A moment as local time; the whole date is in its title. */
export function At({ ms }: { readonly ms: number }): JSX.Element {
  const date = new Date(ms);
  return (
    <time dateTime={date.toISOString()} title={date.toISOString()}>
      {date.toLocaleTimeString('en-GB')}
    </time>
  );
}

export const DiffLines = ({
  lines,
  rest,
}: {
  readonly lines: readonly DiffLine[];
  readonly rest: number;
}): JSX.Element => (
  <>
    <pre class="diff said" dir="auto">
      {lines.map(({ sign, text }, index) => (
        <span key={index} class={DIFF_CLASS[sign]}>
          {sign}
          {visible(text)}
          {'\n'}
        </span>
      ))}
    </pre>
    {rest > 0 && <p class="note">{rest.toLocaleString('en')} more lines</p>}
  </>
);

const DIFF_CLASS = { '+': 'added', '-': 'removed', ' ': 'same', '@': 'place', '»': 'noted' } as const;

export function JsonDiffTable(props: {
  readonly diff: ShownDiff;
  /** What the table is called for those who do not see it. */
  readonly label?: string;
  readonly a: string;
  readonly b: string;
}): JSX.Element {
  const { diff, a, b, label = 'differences' } = props;
  if (diff.differences.length === 0) return <p class="note">no difference</p>;
  return (
    <div class="scrolls" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">path</th>
            <th scope="col">{visible(a)}</th>
            <th scope="col">{visible(b)}</th>
          </tr>
        </thead>
        <tbody>
          {diff.differences.map((difference) => (
            <tr key={difference.path}>
              <td>
                <code>{visible(difference.path)}</code>
              </td>
              <td class="removed">{difference.a === null ? '–' : <code>{visible(difference.a.text)}</code>}</td>
              <td class="added">{difference.b === null ? '–' : <code>{visible(difference.b.text)}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {diff.rest > 0 && <p class="note">{diff.rest.toLocaleString('en')} more paths differ</p>}
    </div>
  );
}

export interface PagerProps {
  /** The first item that is shown, from 0; how many are; and how many there are. */
  readonly first: number;
  readonly shown: number;
  readonly total: number;
  /** How many a page has. */
  readonly size: number;
  readonly onFrom: (first: number) => void;
}

export function Pager({ first, shown, total, size, onFrom }: PagerProps): JSX.Element | null {
  if (first === 0 && shown >= total) return null;
  return (
    <p class="pager">
      {first > 0 && (
        <button type="button" onClick={() => onFrom(Math.max(0, first - size))}>
          earlier
        </button>
      )}
      <span class="note">
        {(first + 1).toLocaleString('en')} to {(first + shown).toLocaleString('en')} of {total.toLocaleString('en')}
      </span>
      {first + shown < total && (
        <button type="button" onClick={() => onFrom(first + size)}>
          later
        </button>
      )}
    </p>
  );
}

/** An event as people count, from 1, as `refold explain` names it; its position counts from 0. */
export const eventName = (position: number): string => (position < 0 ? 'the genesis record' : `event ${position + 1}`);

export const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : many}`;

/** Saves a text as a file of the reader. */
export function save(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
