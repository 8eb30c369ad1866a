// One run of one call, fenced in: whatever the executor does (throws, hangs, returns garbage, ignores being told to
// stop), this ends in time and with a report.
import { isLeft } from 'fp-ts/lib/Either.js';
import { decode } from '../../schemas/codec.ts';
import type { CallOutcome } from '../../schemas/tool-call.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { CallReport, failedReport } from './call-report.ts';
import { CALL_GRACE_MS } from '../../schemas/limits.ts';
import { clip, messageOf } from '../log.ts';
import type { StopReason, StopSwitch } from './stop-switch.ts';

/** How a call ended, as far as the bridge can say. */
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
}

/** Runs until it answers, is out of time, or is stopped and the grace that follows has passed. */
export function runBounded(run: () => Promise<unknown>, { clock, timeoutMs, stop }: RunLimits): Promise<CallEnd> {
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
    void attempt(run).then(end);
  });
}

interface Attempt {
  readonly report: CallReport;
  /** The report is the tool's own, and not made up for one that threw or returned garbage. */
  readonly own: boolean;
}

async function attempt(run: () => Promise<unknown>): Promise<Attempt> {
  try {
    const decoded = decode(CallReport, await run());
    if (!isLeft(decoded)) return { report: decoded.right, own: true };
    const { path, message } = decoded.left;
    const what = `the tool's answer is not usable at "${path}": ${message}`;
    return { report: failedReport('invalid_output', clip(what)), own: false };
  } catch (error) {
    return { report: failedReport('tool_threw', clip(messageOf(error))), own: false };
  }
}

function endOf(attempted: Attempt | null, why: StopReason | null, timeoutMs: number): Omit<CallEnd, 'durationMs'> {
  // What has succeeded has succeeded, even if it was told to stop a moment before.
  if (attempted?.report.success === true) return { outcome: 'succeeded', report: attempted.report };
  if (why === null) {
    const report = attempted?.report ?? failedReport('tool_failed', 'the tool gave no answer');
    return { outcome: 'failed', report: { ...report, code: report.code ?? 'tool_failed' } };
  }
  const outcome = why === 'timeout' ? 'failed' : 'cancelled';
  const code = why === 'timeout' ? 'timeout' : 'cancelled';
  const stopped = failedReport(code, explain(why, timeoutMs));
  if (attempted === null || !attempted.own || attempted.report.text === '') return { outcome, report: stopped };
  return { outcome, report: { ...attempted.report, code, text: `${stopped.text}\n${attempted.report.text}` } };
}

function explain(why: StopReason, timeoutMs: number): string {
  if (why === 'timeout') return `it was stopped after ${timeoutMs} ms; make it smaller, or allow it more time`;
  if (why === 'cancelled') return 'it was stopped because the run was ended';
  return 'it was stopped because its bridge had to stop; what it had done by then stays done';
}
