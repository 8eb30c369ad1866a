// The transcript of a recorded session: text that a person can review, one line per event, with its position, its time, its
// kind, its fields, what it changed in the state, and the effects that the session owes after it. A plus after a position says
// that the next event is in the same commit. A pure function of the records; the texts of the columns are made in the files
// beside this one.
import type { Genesis } from '../../../schemas/genesis.ts';
import { type StreamRecord, versionAfter } from '../../../schemas/record.ts';
import type { ToolPackage } from '../../../schemas/tool-set.ts';
import { upcast } from '../../../schemas/upcast.ts';
import { type FoldedEvent, initialState, newReplayer } from '../../../src/core/index.ts';
import { changesOf } from './changes.ts';
import { contentOf } from './event-content.ts';
import { owedOf } from './owed.ts';
import { cut, since } from './words.ts';

/** The most characters of a line, and of its columns; the column of changes takes what the others leave. */
export const LINE_CHARS_MAX = 176;
const COLUMN_CHARS_MAX = [8, 12, 24, 40, LINE_CHARS_MAX, 36] as const;
const CHANGES = 4;
const GAP = '  ';

type Row = readonly [position: string, time: string, kind: string, content: string, changes: string, owed: string];

const HEADINGS: Row = ['# ', 'ms', 'event', 'fields', 'changes', 'owed effects'];

/** Throws when a record is refused. */
export function transcriptOf(records: readonly StreamRecord[]): string {
  const [first, second] = records;
  if (first?.kind !== 'package' || second?.kind !== 'genesis') {
    throw new Error('a stream begins with a tool package and a genesis record');
  }
  const startMs = second.genesis.created_at_ms;
  const began = genesisText(second.genesis, first.tool_package);
  const owed = owedOf(initialState(second.genesis, first.tool_package), startMs);
  const rows: Row[] = [HEADINGS, ['', '0', 'genesis', began, '', owed]];
  const ends = new Set(records.map((record) => (record.kind === 'commit' ? versionAfter(record) - 1 : null)));
  const replayer = newReplayer((folded) => rows.push(rowOf(folded, ends.has(folded.position), startMs)));
  for (const record of records) {
    if (replayer.add(record)) continue;
    const { divergence } = replayer.result();
    throw new Error(`position ${divergence?.position}: ${divergence?.message}`);
  }
  return layOut(rows);
}

function rowOf(folded: FoldedEvent, endsCommit: boolean, startMs: number): Row {
  const event = upcast(folded.event);
  return [
    `${folded.position}${endsCommit ? ' ' : '+'}`,
    since(event.at_ms, startMs),
    folded.event.kind,
    contentOf(event, startMs),
    changesOf(folded, startMs),
    owedOf(folded.after, startMs),
  ];
}

function genesisText({ session_id, forked_from }: Genesis, { registry }: ToolPackage): string {
  const from = forked_from === undefined ? '' : `, forked from ${forked_from.session_id} at ${forked_from.position}`;
  return `session ${session_id}, ${registry.length} tools${from}`;
}

/** Each column is as wide as its longest text, up to its limit. */
function layOut(rows: readonly Row[]): string {
  const widths = COLUMN_CHARS_MAX.map((max, column) =>
    Math.min(max, Math.max(...rows.map((row) => (row[column] as string).length))),
  );
  const others = widths.reduce((sum, width, column) => sum + (column === CHANGES ? 0 : width), 0);
  const left = LINE_CHARS_MAX - others - GAP.length * (widths.length - 1);
  widths[CHANGES] = Math.min(widths[CHANGES] as number, left);
  const lineOf = (row: Row): string => {
    const cells = row.map((text, column) => {
      const width = widths[column] as number;
      if (column < 2) return text.padStart(width);
      // The last column ends where the line does.
      return column < row.length - 1 ? cut(text, width).padEnd(width) : text;
    });
    return cut(cells.join(GAP).trimEnd(), LINE_CHARS_MAX);
  };
  return `${rows.map(lineOf).join('\n')}\n`;
}
