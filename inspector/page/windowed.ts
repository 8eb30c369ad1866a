// Which rows of a long list are on the screen. A browser cannot make an element of any height, so the bar of a very long
// list stands for more than its pixels: where the bar is says which rows are shown, and small movements move by rows.

/** The greatest height that every browser lays out exactly, in pixels. */
export const HEIGHT_MAX = 8_000_000;

export interface ListSize {
  readonly rows: number;
  /** The height of each row, in pixels. */
  readonly rowHeight: number;
  /** The height of what is seen of the list, in pixels. */
  readonly viewport: number;
}

/** The height of the whole list as it is laid out, in pixels. */
export const laidOutHeight = ({ rows, rowHeight }: ListSize): number => Math.min(rows * rowHeight, HEIGHT_MAX);

export interface Shown {
  /** The first row on the screen, from 0, and how many there are. */
  readonly first: number;
  readonly count: number;
  /** Where the first row stands in the laid-out list, in pixels from its top. */
  readonly top: number;
}

/** The rows that are seen when the list is scrolled by `scrollTop` pixels, with `spare` more on each side. */
export function shownRows(size: ListSize, scrollTop: number, spare: number): Shown {
  const { rows, rowHeight, viewport } = size;
  const at = Math.max(0, Math.min(scrollTop, laidOutHeight(size) - viewport));
  const hidden = at * scaleOf(size);
  const seen = Math.min(rows, Math.ceil(viewport / rowHeight) + 1);
  const begin = Math.max(0, Math.min(Math.floor(hidden / rowHeight), rows - seen));
  const first = Math.max(0, begin - spare);
  const end = Math.min(rows, begin + seen + spare);
  // What is seen keeps its place under the bar, whatever the scale.
  const top = at - (hidden - first * rowHeight);
  return { first, count: end - first, top };
}

/** The scroll position at which this row is the first that is seen whole. */
export function scrollTopOf(size: ListSize, row: number): number {
  const wanted = Math.max(0, Math.min(row * size.rowHeight, size.rows * size.rowHeight - size.viewport));
  return wanted / scaleOf(size);
}

/** How many pixels of rows one pixel of the bar stands for. */
function scaleOf(size: ListSize): number {
  const whole = size.rows * size.rowHeight - size.viewport;
  const bar = laidOutHeight(size) - size.viewport;
  return bar <= 0 || whole <= bar ? 1 : whole / bar;
}
