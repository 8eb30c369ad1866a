// A list of any length of which only the rows on the screen exist. Rows have one height. It is a table for those who do not
// see it: every row says which one it is, and the arrow keys, Page Up, Page Down, Home and End move a selected row.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren, JSX } from 'preact';
import { type ListSize, laidOutHeight, scrollTopOf, shownRows } from './windowed.ts';

export interface WindowedListProps {
  readonly label: string;
  readonly rows: number;
  readonly rowHeight: number;
  /** The selected row; -1 when none is. */
  readonly selected: number;
  readonly onSelect: (row: number) => void;
  /** The rows that are drawn, so that they can be asked for. */
  readonly onShown: (first: number, count: number) => void;
  readonly draw: (row: number) => ComponentChildren;
}

const SPARE = 6;

export function WindowedList(props: WindowedListProps): JSX.Element {
  const { label, rows, rowHeight, selected, onSelect, onShown, draw } = props;
  const box = useRef<HTMLDivElement>(null);
  const [seen, setSeen] = useState({ scrollTop: 0, viewport: 600 });
  const size: ListSize = { rows, rowHeight, viewport: seen.viewport };
  const { first, count, top } = shownRows(size, seen.scrollTop, SPARE);

  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const measure = (): void => setSeen(({ scrollTop }) => ({ scrollTop, viewport: element.clientHeight }));
    const sizes = new ResizeObserver(measure);
    sizes.observe(element);
    measure();
    return () => sizes.disconnect();
  }, []);
  useLayoutEffect(() => onShown(first, count), [first, count, rows]);
  useLayoutEffect(() => bringIntoView(box.current, size, selected), [selected]);

  const move = (event: KeyboardEvent): void => {
    const page = Math.max(1, Math.floor(seen.viewport / rowHeight) - 1);
    const from = Math.max(selected, 0);
    const to: Readonly<Record<string, number>> = {
      ArrowDown: selected + 1,
      ArrowUp: from - 1,
      PageDown: from + page,
      PageUp: from - page,
      Home: 0,
      End: rows - 1,
    };
    const row = to[event.key];
    if (row === undefined || rows === 0) return;
    event.preventDefault();
    onSelect(Math.max(0, Math.min(row, rows - 1)));
  };

  const drawn = Array.from({ length: count }, (_, index) => first + index);
  return (
    <div
      class="windowed"
      ref={box}
      role="grid"
      aria-label={label}
      aria-rowcount={rows}
      tabIndex={0}
      aria-activedescendant={selected < 0 ? undefined : rowId(label, selected)}
      onKeyDown={move}
      onScroll={({ currentTarget: { scrollTop, clientHeight } }) => setSeen({ scrollTop, viewport: clientHeight })}
    >
      <div class="windowed-all" style={{ height: `${laidOutHeight(size)}px` }} role="presentation">
        <div class="windowed-seen" style={{ transform: `translateY(${top}px)` }} role="rowgroup">
          {drawn.map((row) => (
            <div
              key={row}
              id={rowId(label, row)}
              class={row === selected ? 'row selected' : 'row'}
              role="row"
              aria-rowindex={row + 1}
              aria-selected={row === selected}
              style={{ height: `${rowHeight}px` }}
              onClick={() => onSelect(row)}
            >
              {draw(row)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

const rowId = (label: string, row: number): string => `${label.replaceAll(/\W/g, '-')}-${row}`;

function bringIntoView(box: HTMLDivElement | null, size: ListSize, row: number): void {
  if (box === null || row < 0) return;
  const { first, count } = shownRows(size, box.scrollTop, 0);
  // The last of the shown rows may be seen in part.
  if (row >= first && row < first + count - 2) return;
  const middle = row - Math.floor(size.viewport / size.rowHeight / 2);
  box.scrollTop = scrollTopOf(size, Math.max(0, middle));
}
