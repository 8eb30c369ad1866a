// What the bar over all positions shows, in numbers: the sums always, and a table of the parts of the session when it is opened.
import type { JSX } from 'preact';
import { useSignal } from '@preact/signals';
import type { MarkKind, MarksAnswer } from '../protocol.ts';
import { type PartOfMarks, partsInTable } from './marks-in-table.ts';

export interface MarksTableProps {
  readonly marks: MarksAnswer;
  /** In the order of the bar. */
  readonly kinds: readonly MarkKind[];
}

export function MarksTable({ marks, kinds }: MarksTableProps): JSX.Element {
  const isOpen = useSignal(false);
  const shown = kinds.filter((kind) => marks.totals[kind] > 0);
  const sums = shown.map((kind) => `${kind} ${marks.totals[kind].toLocaleString('en')}`).join(' · ');
  return (
    <details class="marks" onToggle={({ currentTarget: { open } }) => (isOpen.value = open)}>
      <summary class="note">{sums === '' ? 'nothing marked yet' : sums}</summary>
      {isOpen.value && <Parts parts={partsInTable(marks)} kinds={shown} />}
    </details>
  );
}

interface PartsProps {
  readonly parts: readonly PartOfMarks[];
  readonly kinds: readonly MarkKind[];
}

const Parts = ({ parts, kinds }: PartsProps): JSX.Element => (
  <table>
    <caption>What the bar shows</caption>
    <thead>
      <tr>
        <th scope="col">events</th>
        {kinds.map((kind) => (
          <th key={kind} scope="col">
            {kind}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {parts.map(({ from, to, counts }) => (
        <tr key={from}>
          <th scope="row">
            {from.toLocaleString('en')}
            {to > from && ` to ${to.toLocaleString('en')}`}
          </th>
          {kinds.map((kind) => (
            <td key={kind} class="number">
              {(counts[kind] ?? 0).toLocaleString('en')}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
