// What all commands share: their common options, how they run and how they end.
import { type Command, Option } from 'commander';
import type { SessionId } from '../../schemas/ids.ts';
import { CommandFailure, type Output, newOutput, reportFailure } from './output.ts';

export type Options = Readonly<Record<string, string | boolean | undefined>>;

/** A command with the options that all have, whose work runs with them and ends with its exit code. */
export function command(
  program: Command,
  usage: string,
  description: string,
  work: (options: Options, args: readonly string[], output: Output) => Promise<number>,
): Command {
  return program
    .command(usage)
    .description(description)
    .option('--data-dir <dir>', 'where the engine keeps its data (default: $REFOLD_DATA_DIR, else ~/.refold)')
    .option('--json', 'print one JSON object a line')
    .exitOverride()
    .action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command;
      const options = self.opts<Options>();
      const output = newOutput(options['json'] === true);
      process.exitCode = await work(options, self.args, output).catch((error: unknown) =>
        reportFailure(error, output.json),
      );
    });
}

export const text = (options: Options, name: string): string | undefined => {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
};

export function wholeNumber(options: Options, name: string, min: number, max?: number): number {
  const value = text(options, name) ?? '';
  if (/^\d{1,12}$/.test(value) && Number(value) >= min && Number(value) <= (max ?? Infinity)) return Number(value);
  const range = `from ${min} ${max === undefined ? 'on' : `to ${max}`}`;
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new CommandFailure('invalid_shape', `--${flag} takes a whole number ${range}, not "${value}"`);
}

/** A session id from the command line. */
export async function sessionArgument(value: string): Promise<SessionId> {
  // Not before a command runs: `refold --version` needs no codec.
  const { SessionId } = await import('../../schemas/ids.ts');
  if (SessionId.is(value)) return value;
  const shape = 'up to 64 letters, digits, "_", "." and "-"';
  throw new CommandFailure('invalid_shape', `"${value}" is no session id (${shape}). List them: refold sessions`);
}

export const dataDir = async (options: Options): Promise<string> => {
  const { dataDirOf } = await import('./data-dir.ts');
  return dataDirOf(text(options, 'dataDir'));
};

export const sandboxOption = (): Option =>
  new Option('--sandbox <level>', 'how commands are confined').choices(['auto', 'none', 'bwrap']).default('auto');
