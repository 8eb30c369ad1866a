// Waits and work of the calls of a turn in time: a bar for each span, to one scale. Each bar says its numbers, and they are
// a table for those who do not see the bars.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { TurnDetail } from '../protocol.ts';
import { Pager } from './panel.tsx';
import { TableHead } from './table-head.tsx';
import { Said } from './text.tsx';
import { visible } from '../../src/shown/visible.ts';

type TurnSpans = TurnDetail['timelines'][number];
type Span = TurnSpans['calls'][number]['spans'][number];

const WHAT = { person: 'waited for a person', queue: 'waited in the queue', run: 'ran' } as const;
const ROW = 22;
const LABEL = 220;
const WIDTH = 720;
/** Calls of one page, of the picture and of its table. */
const CALLS_PAGE = 60;

export function Spans({ turn }: { readonly turn: TurnSpans }): JSX.Element {
  const begin = turn.asked_ms ?? turn.observed_ms;
  const end = endOf(turn);
  const scale = end === begin ? 0 : WIDTH / (end - begin);
  const x = (at_ms: number): number => LABEL + (at_ms - begin) * scale;
  const wide = (from: number, to: number): number => Math.max(2, (to - from) * scale);
  const from = useSignal(0);
  const calls = turn.calls.slice(from.value, from.value + CALLS_PAGE);
  return (
    <>
      <div class="scrolls times" tabIndex={0} role="region" aria-label="times of the turn">
        <svg
          width={LABEL + WIDTH + 90}
          height={(calls.length + 1) * ROW + 4}
          role="img"
          aria-label={`the turn took ${inWords(end - begin)}; the table below has the times`}
        >
          <Label row={0} text="model" />
          <rect class="span model" x={x(begin)} y={4} width={wide(begin, turn.observed_ms)} height={ROW - 8}>
            <title>answered after {inWords(turn.observed_ms - begin)}</title>
          </rect>
          {calls.map(({ call, spans }, index) => (
            <g key={index}>
              <Label row={index + 1} text={`${call.tool_name} ${call.call_id}`} />
              {spans.map((span) => (
                <rect
                  key={span.from_ms}
                  class={`span ${span.what}`}
                  x={x(span.from_ms)}
                  y={(index + 1) * ROW + 4}
                  width={wide(span.from_ms, span.to_ms ?? end)}
                  height={ROW - 8}
                >
                  <title>{sentence(span, end)}</title>
                </rect>
              ))}
            </g>
          ))}
        </svg>
        <TimesTable calls={calls} begin={begin} observed={turn.observed_ms} end={end} />
      </div>
      <Pager
        first={from.value}
        shown={calls.length}
        total={turn.calls.length}
        size={CALLS_PAGE}
        onFrom={(next) => (from.value = next)}
      />
    </>
  );
}

interface TimesTableProps {
  readonly calls: TurnSpans['calls'];
  /** The begin of the turn, the answer of the model, and the end, in milliseconds since 1970. */
  readonly begin: number;
  readonly observed: number;
  readonly end: number;
}

const TimesTable = ({ calls, begin, observed, end }: TimesTableProps): JSX.Element => (
  <table>
    <caption>Waits and work</caption>
    <TableHead columns={['call', 'after', 'what']} />
    <tbody>
      <tr>
        <td>model</td>
        <td>{inWords(0)}</td>
        <td>answered after {inWords(observed - begin)}</td>
      </tr>
      {calls.flatMap(({ call, spans }, index) =>
        spans.map((span) => (
          <tr key={`${index} ${span.from_ms}`}>
            <td>
              <Said text={`${call.tool_name} ${call.call_id}`} />
            </td>
            <td>{inWords(span.from_ms - begin)}</td>
            <td>{sentence(span, end)}</td>
          </tr>
        )),
      )}
    </tbody>
  </table>
);

const endOf = ({ over_ms, observed_ms, calls }: TurnSpans): number =>
  over_ms ??
  Math.max(observed_ms, ...calls.flatMap(({ spans }) => spans.map(({ from_ms, to_ms }) => to_ms ?? from_ms)));

const sentence = ({ what, from_ms, to_ms }: Span, end: number): string =>
  `${WHAT[what]} ${to_ms === null ? `for ${inWords(end - from_ms)} so far` : inWords(to_ms - from_ms)}`;

function Label({ row, text }: { readonly row: number; readonly text: string }): JSX.Element {
  const shown = visible(text);
  return (
    <text x={0} y={row * ROW + 16}>
      {shown.length > 32 ? `${shown.slice(0, 31)}…` : shown}
    </text>
  );
}

/** A duration in milliseconds, as people say it. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.round((ms % 60_000) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
