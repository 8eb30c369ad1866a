// Runs one call within bounds: whatever the executor does (throws, hangs, returns garbage, ignores its signal), the run
// ends in time and with a report.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { CallOutcome } from '../../schemas/tool-call.ts';
import type { BridgeClock } from '../../src/clock.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import { CallAsk } from './call-ask.ts';
import { CallReport, failedReport } from './call-report.ts';
import { CALL_GRACE_MS } from '../../schemas/limits.ts';
import { clip, messageOf } from '../log.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { StopReason, StopSwitch } from './stop-switch.ts';

/** How a call ended, as far as the bridge knows. */
export interface CallEnd {
  readonly outcome: Exclude<CallOutcome, 'unknown'>;
  readonly report: CallReport;
  readonly durationMs: number;
  /** The attempt ended with this question instead, and was not stopped. */
  readonly asked?: CallAsk | undefined;
}

/** The time of a run. */
export interface RunTime {
  /** Stops it; what is returned lets it go on. */
  pause(): () => void;
}

/** The end of a call that was not run. */
export const notRun = (report: CallReport): CallEnd => ({ outcome: 'failed', report, durationMs: 0 });

interface RunLimits {
  readonly clock: BridgeClock;
  readonly timeoutMs: number;
  readonly stop: StopSwitch;
  readonly redactor: Redactor;
}

/** Resolves when the run has answered, or when it has timed out or been stopped and did not end within the grace period. */
export function runBounded(
  run: (time: RunTime) => Promise<unknown>,
  { clock, timeoutMs, stop, redactor }: RunLimits,
): Promise<CallEnd> {
  if (stop.why !== null) return Promise.resolve({ durationMs: 0, ...endOf(null, stop.why, timeoutMs) });
  const startedAt = clock.now();
  return new Promise((resolve) => {
    const deadline = newDeadline(clock, timeoutMs, () => stop.stop('timeout'));
    let cancelGrace: (() => void) | null = null;
    const end = (attempted: Attempt | null): void => {
      deadline.end();
      cancelGrace?.();
      stop.onStop(null);
      const durationMs = Math.max(0, Math.round(clock.now() - startedAt));
      const asked = stop.why === null ? attempted?.asked : undefined;
      resolve({ durationMs, ...endOf(attempted, stop.why, timeoutMs), ...(asked === undefined ? {} : { asked }) });
    };
    stop.onStop(() => {
      cancelGrace = clock.after(CALL_GRACE_MS, () => end(null));
    });
    void attempt(() => run(deadline), redactor).then(end);
  });
}

interface Deadline extends RunTime {
  end(): void;
}

/** Runs down while nothing pauses it. */
function newDeadline(clock: BridgeClock, timeoutMs: number, onDue: () => void): Deadline {
  let leftMs = timeoutMs;
  let since = clock.now();
  let cancel: (() => void) | null = clock.after(leftMs, onDue);
  let pauses = 0;
  let ended = false;
  const goOn = (): void => {
    pauses -= 1;
    if (pauses > 0 || ended) return;
    since = clock.now();
    cancel = clock.after(leftMs, onDue);
  };
  return {
    pause() {
      pauses += 1;
      if (pauses === 1 && cancel !== null) {
        cancel();
        cancel = null;
        leftMs = Math.max(0, leftMs - (clock.now() - since));
      }
      let paused = true;
      return () => {
        if (paused) goOn();
        paused = false;
      };
    },
    end() {
      ended = true;
      cancel?.();
    },
  };
}

interface Attempt {
  readonly report: CallReport;
  readonly asked?: CallAsk;
  /** False when the tool threw or returned garbage, and this report was made in place of the tool's. */
  readonly fromTool: boolean;
}

async function attempt(run: () => Promise<unknown>, redactor: Redactor): Promise<Attempt> {
  try {
    const answer = await run();
    if (isAsk(answer)) {
      const asked = decode(CallAsk, answer);
      if (!isLeft(asked)) return { report: NOT_ASKED, asked: asked.right, fromTool: false };
      return { report: failedReport('invalid_output', clip(redactor.text(faultOf(asked.left)))), fromTool: false };
    }
    const decoded = decode(CallReport, answer);
    if (!isLeft(decoded)) return { report: redactor.value(decoded.right), fromTool: true };
    return { report: failedReport('invalid_output', clip(redactor.text(faultOf(decoded.left)))), fromTool: false };
  } catch (error) {
    return { report: failedReport('tool_threw', clip(redactor.text(messageOf(error)))), fromTool: false };
  }
}

const isAsk = (answer: unknown): boolean => typeof answer === 'object' && answer !== null && 'ask' in answer;

const faultOf = ({ path, message }: Rejection): string => `the tool's answer is invalid at "${path}": ${message}`;

const NOT_ASKED = failedReport('not_asked', 'the call ended with a question that was not put to a person');

function endOf(attempted: Attempt | null, why: StopReason | null, timeoutMs: number): Omit<CallEnd, 'durationMs'> {
  // A success is reported as one, even if the call was stopped just before it ended.
  if (attempted?.report.success === true) return { outcome: 'succeeded', report: attempted.report };
  if (why === null) {
    const report = attempted?.report ?? failedReport('tool_failed', 'the tool gave no answer');
    return { outcome: 'failed', report: { ...report, code: report.code ?? 'tool_failed' } };
  }
  const outcome = why === 'timeout' ? 'failed' : 'cancelled';
  const code = why === 'timeout' ? 'timeout' : 'cancelled';
  const stopped = failedReport(code, explain(why, timeoutMs));
  if (attempted === null || !attempted.fromTool || attempted.report.text === '') return { outcome, report: stopped };
  return { outcome, report: { ...attempted.report, code, text: `${stopped.text}\n${attempted.report.text}` } };
}

function explain(why: StopReason, timeoutMs: number): string {
  if (why === 'timeout') return `stopped after ${timeoutMs} ms. Split the work, or allow more time.`;
  if (why === 'cancelled') return 'stopped because the run was ended';
  return 'stopped because the bridge stopped. What had been done by then was not undone.';
}
