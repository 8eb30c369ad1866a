// The bench: measures every figure beside its limit in the same run, and prints the result. Progress goes to standard error;
// standard output holds the table, or one object with --json. Exit codes: 0 every figure was measured; 2 misuse, or a
// figure that could not be measured.
import { mkdtemp, rm, statfs } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PACKAGE_VERSION } from '../src/version.ts';
import type { Bench, Figure } from './figure.ts';
import { FIGURES } from './figures.ts';
import { Misuse, type Options, USAGE, readOptions } from './options.ts';
import type { Row } from './row.ts';
import { tableOf } from './table.ts';

interface Result {
  readonly bench: 1;
  readonly version: string;
  readonly node: string;
  readonly machine: string;
  readonly quick: boolean;
  readonly rows: readonly (Row & { readonly figure: string })[];
  readonly notes: readonly string[];
  /** Figures that could not be measured, and why. */
  readonly failures: readonly { readonly figure: string; readonly message: string }[];
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2), FIGURES);
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const disk = options.disk ?? tmpdir();
  const directories: string[] = [];
  try {
    const result = await measureAll(options, disk, async () => {
      const made = await mkdtemp(join(disk, 'refold-bench-'));
      directories.push(made);
      return made;
    });
    if (result.failures.length > 0) process.exitCode = 2;
    process.stdout.write(options.json ? `${JSON.stringify(result)}\n` : textOf(result));
  } finally {
    progress('');
    for (const directory of directories) await rm(directory, { recursive: true, force: true });
  }
}

async function measureAll(options: Options, disk: string, directory: Bench['directory']): Promise<Result> {
  const { quick, full, figures, journal } = options;
  const notes = await firstNotes(quick, disk);
  const failures: Result['failures'][number][] = [];
  const note = (text: string): void => void notes.push(text);
  const bench: Bench = { quick, full, directory, progress, note, ...(journal === undefined ? {} : { journal }) };
  const measure = async ({ name, run }: Figure): Promise<Result['rows']> => {
    progress(name);
    try {
      return (await run(bench)).map((row) => ({ figure: name, ...row }));
    } catch (error) {
      failures.push({ figure: name, message: messageOf(error) });
      return [];
    }
  };
  const measured: Result['rows'][] = [];
  // The numbers of a quick run mean nothing, so its figures may disturb each other.
  if (quick) measured.push(...(await Promise.all(figures.map(measure))));
  else for (const figure of figures) measured.push(await measure(figure));
  const rows = measured.flat();
  const [cpu] = cpus();
  const machine = `${availableParallelism()} × ${cpu?.model.trim() ?? 'unknown'}`;
  return { bench: 1, version: PACKAGE_VERSION, node: process.version, machine, quick, rows, notes, failures };
}

const TMPFS = 0x0102_1994;

async function firstNotes(quick: boolean, disk: string): Promise<string[]> {
  const notes: string[] = [];
  if (quick) notes.unshift('a quick run shows that the bench works; its numbers mean nothing');
  const { type } = await statfs(disk);
  if (type === TMPFS) notes.push(`${disk} is in memory, where barriers cost nothing; give --disk DIR on a real disk`);
  return notes;
}

function textOf({ version, node, machine, rows, notes, failures }: Result): string {
  const reached = rows.filter(({ ok }) => ok === true).length;
  const judged = rows.filter(({ ok }) => ok !== null).length;
  return [
    `refold ${version}, Node ${node}, ${machine}; medians of several runs (least–most)`,
    '',
    tableOf(rows),
    '',
    `${reached} of ${judged} reached`,
    ...notes.map((note) => `note: ${note}`),
    ...failures.map(({ figure, message }) => `FAILED: ${figure}: ${message}`),
    '',
  ].join('\n');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001B[K${text}`);
  else if (text !== '') process.stderr.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`bench: ${messageOf(error)}\n`);
  if (error instanceof Misuse) process.stderr.write(USAGE);
  process.exitCode = 2;
}
