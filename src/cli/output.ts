// What commands print, and how they end: text for people, or with --json one JSON object a line. Exit codes: 0 ok, 1
// the thing checked is wrong, 2 misuse or something that could not be done.
import pc from 'picocolors';
import { REJECTIONS, type Rejection } from '../../schemas/rejection.ts';
import { RejectedError } from '../client/must.ts';
import { codeOf, reasonOf, whatFailed } from '../files/file-failure.ts';
import { visible } from './preview/visible.ts';

export interface Output {
  readonly json: boolean;
  /** A line for people; nothing with --json. */
  line(text?: string): void;
  /** An object for programs; nothing without --json. */
  object(value: object): void;
  /** A passing note on standard error, only for people at a terminal. */
  note(text: string): void;
}

export const newOutput = (json: boolean): Output => ({
  json,
  line: (text = '') => {
    if (!json) process.stdout.write(`${printable(text)}\n`);
  },
  object: (value) => {
    if (json) process.stdout.write(`${JSON.stringify(value)}\n`);
  },
  note: (text) => {
    if (!json && process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
  },
});

const ESCAPE = '\u001B';
/** The ends of lines, and the colours that are used here. */
const OURS = pc.isColorSupported ? new RegExp(`(\n|${ESCAPE}\\[(?:1|2|22|3[1-6]|39)m)`) : /(\n)/;

// A line may repeat what a model, a file or a command said; no terminal is to obey that.
const printable = (text: string): string =>
  text
    .split(OURS)
    .map((part, index) => (index % 2 === 0 ? visible(part) : part))
    .join('');

/** Has the process end, without a word, once nobody reads what it prints: `refold events SESSION | head`. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE')
      process.stderr.write(`${pc.red('refold:')} cannot write the output: ${reasonOf(error)}\n`);
    process.exit(2);
  });
  process.stderr.on('error', () => undefined);
}

/** Ends a command: what went wrong, and what to do next. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly code: string;
  readonly exitCode: 1 | 2;

  constructor(code: string, message: string, exitCode: 1 | 2 = 2) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** The failure that an error ends a command with: itself, or that of a rejection; null when it is neither. */
export function failureOf(error: unknown): CommandFailure | null {
  if (error instanceof CommandFailure) return error;
  return error instanceof RejectedError ? failureFrom(error.rejection) : null;
}

const failureFrom = ({ code, path, message }: Rejection): CommandFailure =>
  new CommandFailure(code, `${message}${path === '' ? '' : ` (at ${path})`}. ${adviceOf(code)}`);

/** The advice in the meaning of a code: what follows its first sentence, which the message has already made concrete. */
function adviceOf(code: Rejection['code']): string {
  const meaning: string = REJECTIONS[code];
  const end = meaning.indexOf('. ');
  return end === -1 ? meaning : meaning.slice(end + 2);
}

/** Prints why a command ended and gives its exit code. */
export function reportFailure(error: unknown, json: boolean): number {
  const failure =
    failureOf(error) ?? new CommandFailure('internal', codeOf(error) === null ? String(error) : whatFailed(error));
  const { code, message, exitCode } = failure;
  if (json) process.stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  else process.stderr.write(`${pc.red('refold:')} ${printable(message)}\n`);
  return exitCode;
}
