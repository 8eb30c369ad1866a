// The parts of the bar, put together to as many as a reader can take in as a table.
import type { MarkKind, MarksAnswer } from '../protocol.ts';

const ROWS_MAX = 24;

export interface PartOfMarks {
  /** The first and the last position of the part. */
  readonly from: number;
  readonly to: number;
  readonly counts: Readonly<Partial<Record<MarkKind, number>>>;
}

/** Parts of about one size, in order, that cover every event once. */
export function partsInTable({ events, parts }: Pick<MarksAnswer, 'events' | 'parts'>): readonly PartOfMarks[] {
  const rows = Math.min(ROWS_MAX, parts.length);
  const firstOf = (part: number): number => Math.ceil((part * events) / parts.length);
  return Array.from({ length: rows }, (_, row): PartOfMarks => {
    const [begin, end] = [Math.floor((row * parts.length) / rows), Math.floor(((row + 1) * parts.length) / rows)];
    return { from: firstOf(begin), to: firstOf(end) - 1, counts: summed(parts.slice(begin, end)) };
  }).filter(({ from, to }) => from <= to);
}

function summed(parts: MarksAnswer['parts']): PartOfMarks['counts'] {
  const counts: Partial<Record<MarkKind, number>> = {};
  for (const part of parts) {
    for (const [kind, number] of Object.entries(part) as [MarkKind, number][]) {
      counts[kind] = (counts[kind] ?? 0) + number;
    }
  }
  return counts;
}
