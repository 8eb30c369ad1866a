// Reports how a command ended, as text for the model and as data. Any exit code of the program is a result of a
// successful call; the call fails only when the command was ended from outside.
import { constants } from 'node:os';
import type { JsonObject } from '../../../schemas/json.ts';
import { OUTPUT_BYTES_MIN, SPILL_BYTES_MAX } from '../../../schemas/limits.ts';
import { type GitFindings, gitNotes } from '../git/git-guard.ts';
import type { HostOutcome } from '../outcome.ts';
import { spillTo } from '../spill.ts';
import type { Capture, Excerpt } from './output-capture.ts';
import type { CommandEnd, CommandStopReason } from './run-command.ts';

export interface FinishedCommand {
  readonly end: CommandEnd;
  readonly stdout: Capture;
  readonly stderr: Capture;
  readonly durationMs: number;
  readonly timeoutMs: number;
  /** Environment variables that were not passed to the command. */
  readonly dropped: readonly string[];
  readonly git: GitFindings;
}

export interface ReportLimits {
  readonly outputBytesMax: number;
  readonly spillPath: string;
}

/** Reserved for the parts of the text that are not output. */
const FRAME_BYTES = 512;

export function reportCommand(command: FinishedCommand, limits: ReportLimits): HostOutcome {
  const { stdout, stderr, durationMs, dropped, git } = command;
  const verdict = verdictOf(command);
  const notes = gitNotes(git);
  const room = Math.max(limits.outputBytesMax, OUTPUT_BYTES_MIN) - FRAME_BYTES;
  const available = Math.max(0, room - Buffer.byteLength(notes.join('\n')));
  // Each stream may use half of the room, and what the other leaves over.
  const errBytes = Math.min(stderr.total(), Math.max(Math.floor(available / 2), available - stdout.total()));
  const out = stdout.excerpt(available - errBytes);
  const err = stderr.excerpt(errBytes);
  const truncated = out.bytesOmitted + err.bytesOmitted > 0;
  const headline = [
    verdict.headline,
    ...(dropped.length === 0 ? [] : [`[environment variables not passed on: ${dropped.join(', ')}]`]),
    ...notes,
  ];
  const text = [...headline, ...section('stdout', out), ...section('stderr', err)];
  if (stdout.total() + stderr.total() === 0) text.push('(no output)');
  const data: JsonObject = {
    ...(verdict.exitCode === null ? {} : { exit_code: verdict.exitCode }),
    ...(verdict.signal === null ? {} : { signal: verdict.signal }),
    stdout_bytes: stdout.total(),
    stderr_bytes: stderr.total(),
    truncated,
    duration_ms: durationMs,
    ...(dropped.length === 0 ? {} : { env_dropped: dropped }),
    ...(git.quarantined.length === 0 ? {} : { git_quarantined: git.quarantined.length }),
  };
  return {
    success: verdict.code === null,
    ...(verdict.code === null ? {} : { code: verdict.code }),
    text: text.join('\n'),
    data,
    ...(truncated ? spillTo(limits.spillPath, () => wholeOutput(headline, command)) : {}),
  };
}

interface Verdict {
  readonly code: string | null;
  readonly headline: string;
  readonly exitCode: number | null;
  readonly signal: string | null;
}

function verdictOf({ end, timeoutMs }: FinishedCommand): Verdict {
  const signal = end.signal ?? signalOf(end.exitCode);
  const exitCode = end.signal === null ? end.exitCode : null;
  const failure = (code: string, headline: string): Verdict => ({
    code,
    headline: `${code}: ${headline}`,
    exitCode,
    signal,
  });
  if (end.stopped !== null) {
    const { code, headline } = stopTexts[end.stopped];
    return failure(code, headline(timeoutMs));
  }
  if (signal !== null) return failure('signaled', `the command was ended by the signal ${signal}`);
  return { code: null, headline: `exit code ${exitCode ?? 0}`, exitCode: exitCode ?? 0, signal: null };
}

const stopTexts: Readonly<
  Record<CommandStopReason, { readonly code: string; readonly headline: (ms: number) => string }>
> = {
  timeout: {
    code: 'timeout',
    headline: (ms) => `the command was stopped after ${ms} ms; allow more time with timeout_ms, or do less work`,
  },
  cancelled: { code: 'cancelled', headline: () => 'the call was cancelled and the command was stopped' },
  session: { code: 'signaled', headline: () => 'the command was stopped by host.session.signal' },
  closed: { code: 'cancelled', headline: () => 'the host is closing and stopped the command' },
};

// A sandbox and a shell both report an end by signal n as exit code 128 + n. The code is always read this way, so that a
// command has the same report with and without a sandbox.
function signalOf(exitCode: number | null): string | null {
  if (exitCode === null) return null;
  const found = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128);
  return found?.[0] ?? null;
}

const section = (name: string, { text }: Excerpt): readonly string[] => (text === '' ? [] : [`[${name}]`, text]);

function wholeOutput(headline: readonly string[], { stdout, stderr }: FinishedCommand): Buffer {
  const parts: Buffer[] = [Buffer.from(`${headline.join('\n')}\n`)];
  for (const [name, stream] of [['stdout', stdout] as const, ['stderr', stderr] as const]) {
    if (stream.total() > 0) parts.push(Buffer.from(`[${name}]\n`), stream.whole(), Buffer.from('\n'));
  }
  return Buffer.concat(parts).subarray(0, SPILL_BYTES_MAX);
}
