// What commands print and how they end: text for people, or one JSON object per line with --json. Exit codes: 0 success,
// 1 what was checked is wrong, 2 misuse or an operation that failed.
import { paint, printable } from '../shown/paint.ts';
import { REJECTIONS, type Rejection } from '../../schemas/rejection.ts';
import { RejectedError } from '../client/rejected-error.ts';
import { codeOf, reasonOf, whatFailed } from '../files/file-failure.ts';

export interface Output {
  readonly json: boolean;
  /** Standard output itself, for results that are neither lines nor objects. */
  readonly stdout: Stream;
  /** Prints one line for people, whatever its text holds: colours are those of `paint` alone. Nothing with --json. */
  line(text?: string): void;
  /** Prints an object for programs; nothing without --json. */
  object(value: object): void;
  /** Shows a transient note on standard error, only at a terminal. */
  note(text: string): void;
  /** Prints a line on standard error: what went wrong beside the results. */
  warn(text: string): void;
}

/** A writable stream that may be a terminal. */
export type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };

export interface Streams {
  readonly stdout: Stream;
  readonly stderr: Stream;
}

export const newOutput = ({ stdout, stderr }: Streams, json: boolean): Output => ({
  json,
  stdout,
  line: (text = '') => {
    if (!json) stdout.write(`${printable(text)}\n`);
  },
  object: (value) => {
    if (json) stdout.write(`${JSON.stringify(value)}\n`);
  },
  warn: (text) => void stderr.write(`${printable(text)}\n`),
  note: (text) => {
    if (!json && stderr.isTTY === true) stderr.write(`\r\u001b[K${printable(text)}`);
  },
});

/**
 * Ends the process silently once the reader of its output is gone, as in `refold diff A B | head`. The exit code is that of
 * a command that SIGPIPE ended, because this one has not finished.
 */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(ENDED_BY_SIGPIPE);
    process.stderr.write(`${printable(`${paint.red('refold:')} cannot write the output: ${reasonOf(error)}`)}\n`);
    process.exit(2);
  });
  process.stderr.on('error', () => undefined);
}

const ENDED_BY_SIGPIPE = 128 + 13;

/** Thrown to end a command: the message says what is wrong and what to do next. */
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
export function commandFailureOf(error: unknown): CommandFailure | null {
  if (error instanceof CommandFailure) return error;
  return error instanceof RejectedError ? failureFrom(error.rejection) : null;
}

const failureFrom = ({ code, path, message }: Rejection): CommandFailure =>
  new CommandFailure(code, `${message}${path === '' ? '' : ` (at ${path})`}${adviceOf(code)}`);

/**
 * The advice in the meaning of a code: what follows its first sentence, which the message has already made concrete. Empty
 * when the meaning has only one sentence.
 */
function adviceOf(code: Rejection['code']): string {
  const meaning: string = REJECTIONS[code];
  const end = meaning.indexOf('. ');
  return end === -1 ? '' : meaning.slice(end);
}

/** Prints why a command failed and returns its exit code. */
export function reportFailure(error: unknown, { json }: Output, { stdout, stderr }: Streams): number {
  const failure =
    commandFailureOf(error) ??
    new CommandFailure('internal', codeOf(error) === null ? String(error) : whatFailed(error));
  const { code, message, exitCode } = failure;
  if (json) stdout.write(`${JSON.stringify({ error: { code, message } })}\n`);
  else stderr.write(`${printable(`${paint.red('refold:')} ${message}`)}\n`);
  return exitCode;
}
