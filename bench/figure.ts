// A figure measures one thing and returns its rows. The bench gives it directories and prints its progress.
import type { Row } from './row.ts';

export interface Bench {
  /** A quick run shows that the bench works: few runs of little work, whose numbers mean nothing. */
  readonly quick: boolean;
  /** Also measures the sizes that take long. */
  readonly full: boolean;
  /** The URL of a database for a journal; absent where none is measured. */
  readonly journal?: string;
  /** A new directory on the measured disk; removed at the end. */
  directory(): Promise<string>;
  /** Prints what is being measured. */
  progress(text: string): void;
  /** Adds a note for the readers of the result. */
  note(text: string): void;
}

export interface Figure {
  /** The name that `--only` takes. */
  readonly name: string;
  readonly run: (bench: Bench) => Promise<readonly Row[]>;
}

/** `few` with `--quick`, else `many`. */
export const sized = ({ quick }: Bench, few: number, many: number): number => (quick ? few : many);
