// The bar over all positions of a session: what happened where, where the reader is, and how far this browser has folded.
// It is a slider for the keyboard; buttons step to the next turn, refusal, failure or person, and play the events in turn.
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { useSignal } from '@preact/signals';
import type { MarkKind, MarksAnswer } from '../protocol.ts';
import { type SourceNow, useApp, useAsk } from './app.ts';
import { eventName } from './panel.tsx';
import { MarksTable } from './marks-table.tsx';

/** At most so many marks of a kind beside each other. */
const PARTS_MAX = 240;
const HEIGHT = 36;
/** The height of the marks of one kind. */
const ROW = 5;
const KINDS: readonly MarkKind[] = ['fault', 'failure', 'refusal', 'person', 'turn', 'run', 'change'];
const STEPS = [
  { what: 'refusal or failure', kinds: ['refusal', 'failure', 'fault'] },
  { what: 'turn', kinds: ['turn'] },
  { what: 'person', kinds: ['person'] },
] as const;
/** Events a second, while it plays. */
const PLAY_RATE = 4;

export interface BarProps {
  readonly source: SourceNow;
  readonly selected: number;
  readonly onSeek: (position: number) => void;
}

export function Bar({ source, selected, onSeek }: BarProps): JSX.Element {
  const { link } = useApp();
  const { folded, total: known, read } = source.progress;
  const total = known ?? read;
  const last = Math.max(0, total - 1);
  // A short session has a part for each event, so that its marks can be seen.
  const parts = Math.max(1, Math.min(PARTS_MAX, total));
  const { value: marks } = useAsk('marks', { source: source.source, parts }, source.news);
  const playing = useSignal(false);
  const said = useSignal('');

  const found = (position: number | null, otherwise: string): void => {
    said.value = position === null ? otherwise : '';
    if (position !== null) onSeek(position);
  };
  const seek = (direction: 'next' | 'previous', what: string, kinds: readonly MarkKind[]): void => {
    link.ask('seekMark', { source: source.source, from: selected, direction, kinds }).then(
      ({ position }) => found(position, `there is no ${direction} ${what}`),
      () => (said.value = 'that cannot be found now'),
    );
  };

  useEffect(() => {
    if (!playing.value) return undefined;
    if (selected >= last) {
      playing.value = false;
      return undefined;
    }
    const timer = setTimeout(() => onSeek(selected + 1), 1_000 / PLAY_RATE);
    return () => clearTimeout(timer);
  }, [playing.value, selected, last]);

  return (
    <section class="bar" aria-label="all positions">
      <Picture marks={marks} parts={parts} folded={folded} total={total} selected={selected} />
      <input
        type="range"
        min={0}
        max={last}
        value={Math.min(selected, last)}
        aria-label="position"
        aria-valuetext={`${eventName(selected)} of ${total}`}
        onInput={({ currentTarget: { value } }) => onSeek(Number(value))}
      />
      <div class="steps">
        <button type="button" aria-pressed={playing.value} onClick={() => (playing.value = !playing.value)}>
          {playing.value ? 'stop' : 'play'}
        </button>
        {STEPS.map(({ what, kinds }) => (
          <span key={what} class="step">
            <button type="button" aria-label={`previous ${what}`} onClick={() => seek('previous', what, kinds)}>
              ‹
            </button>
            {what}
            <button type="button" aria-label={`next ${what}`} onClick={() => seek('next', what, kinds)}>
              ›
            </button>
          </span>
        ))}
        <span class="note" role="status">
          {said.value}
        </span>
      </div>
      {marks !== null && <MarksTable marks={marks} kinds={KINDS} />}
    </section>
  );
}

interface PictureProps {
  readonly marks: MarksAnswer | null;
  /** How many parts the bar has. */
  readonly parts: number;
  readonly folded: number;
  readonly total: number;
  readonly selected: number;
}

const Picture = ({ marks, parts, folded, total, selected }: PictureProps): JSX.Element => (
  <svg viewBox={`0 0 ${parts} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
    <rect class="folded" x={0} y={0} width={total === 0 ? 0 : (folded / total) * parts} height={HEIGHT} />
    {KINDS.map((kind, row) => (
      <path key={kind} class={`mark is-${kind}`} d={drawnMarks(marks?.parts ?? [], kind, row)} />
    ))}
    <rect
      class="place"
      x={(selected / Math.max(1, total)) * parts}
      y={0}
      width={Math.max(parts / PARTS_MAX, parts / Math.max(1, total))}
      height={HEIGHT}
    />
  </svg>
);

/** One path for all marks of a kind: thousands of elements would hold up the main thread each time that the fold moves on. */
const drawnMarks = (parts: MarksAnswer['parts'], kind: MarkKind, row: number): string =>
  parts.map((part, index) => ((part[kind] ?? 0) > 0 ? `M${index} ${row * ROW}h1v${ROW}h-1z` : '')).join('');
