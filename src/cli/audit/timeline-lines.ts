// A turn as a picture: one line for the model and one for each call, on one time scale, so concurrent calls are visible.
import { stripVTControlCharacters } from 'node:util';
import { paint } from '../../shown/paint.ts';
import { isTerminal } from '../../../reducers/call-status.ts';
import type { CallSpan, CallTimeline, TurnTimeline } from '../../core/timeline.ts';
import { describeCall } from '../progress.ts';

const LABEL_WIDTH = 32;
const BAR_WIDTH_MIN = 20;
const BAR_WIDTH_MAX = 100;
/** The column beside a bar: how long the call ran and how it ended. */
const BESIDE_WIDTH = 34;
const CALLS_MAX = 100;

export const LEGEND = '▒ model   · queued   ? waits for a person   █ runs';

const CELLS: Readonly<Record<CallSpan['what'] | 'model', string>> = { queue: '·', person: '?', model: '▒', run: '█' };
/** In drawing order: a later span overwrites an earlier one. */
const DRAWN: readonly CallSpan['what'][] = ['queue', 'person', 'run'];

/** The lines of a turn. `now_ms` ends the bars of an open turn; `columns` is the width of the terminal. */
export function timelineLines(turn: TurnTimeline, now_ms: number, columns: number): readonly string[] {
  const { run_id, turn: number, asked_ms, observed_ms, over_ms, calls, compacted } = turn;
  const from = compacted?.from_ms ?? asked_ms ?? observed_ms;
  const to = Math.max(over_ms ?? now_ms, observed_ms);
  const width = Math.min(BAR_WIDTH_MAX, Math.max(BAR_WIDTH_MIN, columns - LABEL_WIDTH - BESIDE_WIDTH));
  const scale: Scale = { from, perCell: Math.max(1, to - from) / width, width, to };
  const name = asked_ms === null ? `calls in place of turn ${number}` : `turn ${number}`;
  const open = over_ms === null ? paint.yellow(' so far') : '';
  const model = { what: 'model', from_ms: asked_ms ?? observed_ms, to_ms: observed_ms } as const;
  return [
    `${paint.bold(paint.cyan(name))} ${paint.dim(`of ${run_id}`)}  ${formatDuration(to - from)}${open}${concurrency(turn, to)}`,
    ...(compacted === undefined ? [] : [compactionLine(compacted, scale)]),
    ...(asked_ms === null ? [] : [row('model', bar([model], scale), formatDuration(observed_ms - asked_ms))]),
    ...calls.slice(0, CALLS_MAX).map((call) => callLine(call, scale)),
    ...(calls.length > CALLS_MAX ? [paint.dim(`  … and ${calls.length - CALLS_MAX} more calls; --json has all`)] : []),
  ];
}

const compactionLine = (span: NonNullable<TurnTimeline['compacted']>, scale: Scale): string =>
  row('compaction', bar([{ what: 'model', ...span }], scale), formatDuration(span.to_ms - span.from_ms));

/** The summed run time of the calls against the elapsed time. */
function concurrency({ observed_ms, calls }: TurnTimeline, to: number): string {
  const work = calls.reduce((sum, call) => sum + lasted(call, 'run', to), 0);
  const wall = to - observed_ms;
  if (calls.length < 2 || work === 0 || wall === 0) return '';
  return paint.dim(`, ${calls.length} calls: ${formatDuration(work)} of work in ${formatDuration(wall)}`);
}

/** The time scale of one turn, in milliseconds. */
interface Scale {
  readonly from: number;
  readonly to: number;
  readonly perCell: number;
  readonly width: number;
}

interface DrawnSpan {
  readonly what: CallSpan['what'] | 'model';
  readonly from_ms: number;
  readonly to_ms: number | null;
}

function bar(spans: readonly DrawnSpan[], { from, to, perCell, width }: Scale): string {
  const cells = Array.from({ length: width }, () => ' ');
  for (const { what, from_ms, to_ms } of spans) {
    const first = Math.min(width - 1, Math.round((from_ms - from) / perCell));
    // Even the shortest span is one cell wide.
    const end = Math.max(first + 1, Math.round(((to_ms ?? to) - from) / perCell));
    cells.fill(CELLS[what], first, Math.min(end, width));
  }
  return cells.join('');
}

function callLine(timeline: CallTimeline, scale: Scale): string {
  const { call, spans } = timeline;
  const drawn = DRAWN.flatMap((what) => spans.filter((span) => span.what === what));
  const person = lasted(timeline, 'person', scale.to);
  const beside = [
    ...(spans.some(({ what }) => what === 'run') ? [formatDuration(lasted(timeline, 'run', scale.to))] : []),
    ...(person > 0 ? [`a person took ${formatDuration(person)}`] : []),
    endOf(timeline),
  ];
  return row(describeCall(call), bar(drawn, scale), beside.join(' '));
}

const lasted = ({ spans }: CallTimeline, kind: CallSpan['what'], to: number): number =>
  spans.reduce((sum, { what, from_ms, to_ms }) => (what === kind ? sum + (to_ms ?? to) - from_ms : sum), 0);

function endOf({ status, code }: CallTimeline): string {
  if (status === 'succeeded') return paint.green('✓');
  if (!isTerminal(status)) return paint.yellow(status);
  return paint.red(`✗ ${code ?? status}`);
}

/** A label may contain colour sequences, which take no width. */
function row(label: string, drawn: string, beside: string): string {
  const plain = stripVTControlCharacters(label);
  const fits = plain.length <= LABEL_WIDTH - 3;
  const shown = fits ? label + ' '.repeat(LABEL_WIDTH - 3 - plain.length) : `${plain.slice(0, LABEL_WIDTH - 4)}…`;
  return `  ${shown} ${paint.dim('│')}${drawn}${paint.dim('│')} ${beside}`;
}

const MINUTE = 60_000;

/** A duration in milliseconds as text. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < MINUTE) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const minutes = Math.floor(ms / MINUTE);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % MINUTE) / 1_000)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
