// Runs one call within bounds: whatever the executor does (throws, hangs, returns garbage, ignores its signal), the run
// ends in time and with a report.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { CallOutcome } from '../../schemas/tool-call.ts';
import type { BridgeClock } from '../../src/clock.ts';
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
  run: () => Promise<unknown>,
  { clock, timeoutMs, stop, redactor }: RunLimits,
): Promise<CallEnd> {
  if (stop.why !== null) return Promise.resolve({ durationMs: 0, ...endOf(null, stop.why, timeoutMs) });
  const startedAt = clock.now();
  return new Promise((resolve) => {
    const cancelDeadline = clock.after(timeoutMs, () => stop.stop('timeout'));
    let cancelGrace: (() => void) | null = null;
    const end = (attempted: Attempt | null): void => {
      cancelDeadline();
      cancelGrace?.();
      stop.onStop(null);
      const durationMs = Math.max(0, Math.round(clock.now() - startedAt));
      resolve({ durationMs, ...endOf(attempted, stop.why, timeoutMs) });
    };
    stop.onStop(() => {
      cancelGrace = clock.after(CALL_GRACE_MS, () => end(null));
    });
    void attempt(run, redactor).then(end);
  });
}

interface Attempt {
  readonly report: CallReport;
  /** False when the tool threw or returned garbage, and this report was made in place of the tool's. */
  readonly fromTool: boolean;
}

async function attempt(run: () => Promise<unknown>, redactor: Redactor): Promise<Attempt> {
  try {
    const decoded = decode(CallReport, await run());
    if (!isLeft(decoded)) return { report: redactor.value(decoded.right), fromTool: true };
    const { path, message } = decoded.left;
    const fault = `the tool's answer is invalid at "${path}": ${message}`;
    return { report: failedReport('invalid_output', clip(redactor.text(fault))), fromTool: false };
  } catch (error) {
    return { report: failedReport('tool_threw', clip(redactor.text(messageOf(error)))), fromTool: false };
  }
}

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
