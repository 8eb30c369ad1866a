// The command line of the bench.
import { parseArgs } from 'node:util';
import type { Figure } from './figure.ts';

export const USAGE = `usage: bench [options]

  --quick        check that the bench works: few runs of little work
  --full         also the sizes that take long: a log of 1,000,000 events
  --only NAME    measure this figure only; may be repeated
  --disk DIR     write the measured files below DIR (default: the system's temporary directory)
  --journal URL  also the journal in this PostgreSQL database, which keeps the sessions of the bench
  --json         print one JSON object instead of a table
`;

/** The command line is wrong; the message says how. */
export class Misuse extends Error {
  override readonly name = 'Misuse';
}

export interface Options {
  readonly quick: boolean;
  readonly full: boolean;
  readonly json: boolean;
  readonly help: boolean;
  readonly disk: string | undefined;
  readonly journal: string | undefined;
  readonly figures: readonly Figure[];
}

/** Throws a {@link Misuse}. */
export function readOptions(args: readonly string[], all: readonly Figure[]): Options {
  const values = parse(args);
  const only = values.only ?? [];
  const unknown = only.find((name) => !all.some((figure) => figure.name === name));
  if (unknown !== undefined) {
    throw new Misuse(`unknown figure "${unknown}"; the figures are ${all.map(({ name }) => name).join(', ')}`);
  }
  return {
    quick: values.quick ?? false,
    full: values.full ?? false,
    json: values.json ?? false,
    help: values.help ?? false,
    disk: values.disk,
    journal: values.journal,
    figures: only.length === 0 ? all : all.filter(({ name }) => only.includes(name)),
  };
}

const flag = { type: 'boolean' } as const;

function parse(args: readonly string[]) {
  try {
    const text = { type: 'string' } as const;
    const options = {
      quick: flag,
      full: flag,
      json: flag,
      help: flag,
      disk: text,
      journal: text,
      only: { ...text, multiple: true },
    } as const;
    return parseArgs({ args: [...args], options, strict: true }).values;
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : 'the arguments cannot be read', { cause: error });
  }
}
