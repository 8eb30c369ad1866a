// The lines that show what a section found.
import type { Tallied } from './tally.ts';

interface Checked {
  readonly name: string;
  /** The folder has what the section reads. */
  readonly isThere: boolean;
  readonly ms: number;
}

/** A heading, the counts in columns, and the notes. */
export function checkedTable({ name, isThere, ms }: Checked, { counts, failures, notes }: Tallied): readonly string[] {
  if (!isThere) return [`${name}: not in this folder`];
  const rows = [...withParts(counts), ...(failures.length === 0 ? [] : [['FAILURES', failures.length] as const])];
  const width = Math.max(...rows.map(([what]) => what.length), 0);
  return [
    `${name} (${(ms / 1_000).toFixed(1)} s)`,
    ...rows.map(([what, count]) => `  ${what.padEnd(width)} ${String(count).padStart(7)}`),
    ...notes.map((note) => `  note: ${note}`),
  ];
}

/** A count such as `errors: auth` is a part of `errors`, and follows it. */
function withParts(counts: ReadonlyMap<string, number>): readonly (readonly [string, number])[] {
  const all = [...counts];
  return all
    .filter(([what]) => !what.includes(': '))
    .flatMap(([whole, count]) => [
      [whole, count] as const,
      ...all
        .filter(([what]) => what.startsWith(`${whole}: `))
        .map(([what, part]) => [`  ${what.slice(whole.length + 2)}`, part] as const),
    ]);
}
