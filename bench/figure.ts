// A figure measures one thing and gives its rows; the bench gives it a place on disk and takes its progress.
import type { Row } from './row.ts';

export interface Bench {
  /** Only to see that it works: few runs of little work, whose figures mean nothing. */
  readonly quick: boolean;
  /** The sizes that take long, too. */
  readonly full: boolean;
  /** A fresh directory on the disk that is measured; removed at the end. */
  directory(): Promise<string>;
  /** What is being done now. */
  progress(text: string): void;
  /** What a reader of the figures must know. */
  note(text: string): void;
}

export interface Figure {
  /** As `--only` takes it. */
  readonly name: string;
  readonly run: (bench: Bench) => Promise<readonly Row[]>;
}

/** So many with `--quick`, else so many. */
export const sized = ({ quick }: Bench, few: number, many: number): number => (quick ? few : many);
