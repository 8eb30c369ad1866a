// What all commands share: the common options, how a command runs and how it ends.
import { type Command, Option } from 'commander';
import type { SessionId } from '../../schemas/ids.ts';
import { CommandFailure, type Output, type Streams, commandFailureOf, newOutput, reportFailure } from './output.ts';

export type Options = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** One command line: its parser, the streams it prints to, and the exit code of the command that ran. */
export interface Program {
  readonly root: Command;
  readonly streams: Streams;
  exitCode: number;
}

/** Adds a command with the common options; `work` returns its exit code. */
export function command(
  program: Program,
  usage: string,
  description: string,
  work: (options: Options, args: readonly string[], output: Output) => Promise<number>,
): Command {
  return program.root
    .command(usage)
    .description(description)
    .option('--data-dir <dir>', dataDirHelp('$REFOLD_DATA_DIR, else ~/.refold'))
    .option('--json', 'print one JSON object per line')
    .exitOverride()
    .action(async (...given: unknown[]) => {
      const self = given.at(-1) as Command;
      const options = self.opts<Options>();
      const output = newOutput(program.streams, options['json'] === true);
      program.exitCode = await work(options, self.args, output).catch(async (error: unknown) =>
        reportFailure(await withPlace(error, options), output, program.streams),
      );
    });
}

/** A session that is missing is often in another data directory, so the failure says which one was searched. */
async function withPlace(error: unknown, options: Options): Promise<unknown> {
  const failure = commandFailureOf(error);
  if (failure?.code !== 'unknown_session') return error;
  const message = `${failure.message} Searched in ${await dataDir(options)}; another one: --data-dir DIR`;
  return new CommandFailure(failure.code, message, failure.exitCode);
}

const dataDirHelp = (fallback: string): string => `the engine’s data directory (default: ${fallback})`;

/** Changes the help of --data-dir for a command with another default. */
export function describeDataDir({ options }: Command, fallback: string): void {
  for (const option of options) if (option.long === '--data-dir') option.description = dataDirHelp(fallback);
}

export const textOption = (options: Options, name: string): string | undefined => {
  const value = options[name];
  return typeof value === 'string' ? value : undefined;
};

/** The values of an option that may be given several times. */
export const textsOption = (options: Options, name: string): readonly string[] => {
  const value = options[name];
  return typeof value === 'object' ? value : [];
};

export const attachOption = (): Option =>
  new Option(
    '--attach <file>',
    'a PNG, JPEG, GIF, WebP or PDF file that the model gets too; may be repeated',
  ).argParser((file: string, before: readonly string[] | undefined) => [...(before ?? []), file]);

export function wholeNumber(options: Options, name: string, min: number, max?: number): number {
  const value = textOption(options, name) ?? '';
  if (/^\d{1,12}$/.test(value) && Number(value) >= min && Number(value) <= (max ?? Infinity)) return Number(value);
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  const flag = name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new CommandFailure('invalid_shape', `--${flag} takes a whole number ${range}, not "${value}"`);
}

/** A session id from the command line. */
export async function sessionArgument(value: string): Promise<SessionId> {
  // Loaded only when a command runs: `refold --version` needs no codec.
  const { SessionId } = await import('../../schemas/ids.ts');
  if (SessionId.is(value)) return value;
  const shape = 'at most 64 letters, digits, "_", "." and "-"';
  throw new CommandFailure(
    'invalid_shape',
    `"${value}" is not a session id (${shape}). List the sessions: refold sessions`,
  );
}

export const dataDir = async (options: Options): Promise<string> => {
  const { dataDirOf } = await import('./data-dir.ts');
  return dataDirOf(textOption(options, 'dataDir'));
};

export const sandboxOption = (): Option =>
  new Option('--sandbox <level>', 'how the commands that tools run are confined')
    .choices(['auto', 'none', 'bwrap'])
    .default('auto');

export const keepResponsesOption = (): Option =>
  new Option(
    '--keep-responses <which>',
    'store responses of the model as evidence: all, off, or N for the last N turns',
  ).default('all');
