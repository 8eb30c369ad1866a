// The result as a table: one line a row.
import type { Row } from './row.ts';
import type { Spread } from './spread.ts';

const HEAD = ['figure', 'measured', 'limit in the same run', 'ratio', 'reach', 'ok'];

export function tableOf(rows: readonly Row[]): string {
  const cells = [HEAD, ...rows.map(cellsOf)];
  const widths = HEAD.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width));
  return [HEAD, rule, ...cells.slice(1)].map((row) => line(row)).join('\n');
}

function cellsOf({ what, unit, measured, limit, ratio, reach, ok }: Row): readonly string[] {
  return [
    what,
    `${spread(measured)} ${unit}`,
    limit === null ? '' : `${compact(limit.spread.median)} ${unit}: ${limit.what}`,
    ratio === null ? '' : spread(ratio),
    reach === null
      ? ''
      : `${reach.at === 'least' ? '≥' : '≤'} ${compact(reach.value)}${reach.of === 'ratio' ? ' ×' : ''}`,
    ok === null ? '' : ok ? 'ok' : 'NO',
  ];
}

const spread = ({ median, min, max, runs }: Spread): string =>
  runs === 1 ? compact(median) : `${compact(median)} (${compact(min)}–${compact(max)})`;

/** Three digits: a shared machine is not more precise. */
function compact(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, digits === 0 ? ' ' : '');
}
