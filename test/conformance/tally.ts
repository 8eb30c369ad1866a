// What a check of a corpus found: counts for the table, failures with their place, and notes for readers.

export interface Tally {
  /** Adds to a count; counts are shown in the order of their first mention. */
  count(what: string, by?: number): void;
  /** `place` is a file and a line. */
  fail(place: string, reason: string): void;
  note(text: string): void;
}

export interface Tallied {
  readonly counts: ReadonlyMap<string, number>;
  readonly failures: readonly string[];
  readonly notes: readonly string[];
}

/** One kind of corpus. */
export interface Section {
  readonly name: string;
  /** False when the folder does not have what it reads. */
  readonly check: (corpora: string, tally: Tally, progress: Progress) => Promise<boolean>;
}

/** Called often; shows what is being checked. */
export type Progress = (what: string) => void;

export function newTally(): Tally & Tallied {
  const counts = new Map<string, number>();
  const failures: string[] = [];
  const notes: string[] = [];
  return {
    counts,
    failures,
    notes,
    count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
    fail: (place, reason) => void failures.push(`${place}: ${firstLine(reason)}`),
    note: (text) => void notes.push(text),
  };
}

const CHARS_MAX = 600;

/** A failure is one line, of a bounded length. */
const firstLine = (reason: string): string => {
  const line = reason.replaceAll(/\s*\n\s*/g, ' | ');
  return line.length <= CHARS_MAX ? line : `${line.slice(0, CHARS_MAX)}… (${line.length} characters)`;
};
