// A call that must not be repeated began once (docs/design.md, law 12).
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
import type { CallReading } from './reading.ts';
import { isWork } from './results.ts';

export function checkBeganOnce(judged: LawCase): readonly LawBreach[] {
  const { folded, batch, call, detached } = judged;
  const { event } = folded;
  if (batch === null || call === null || call.planned === null || detached || !isWork(event)) return [];
  const { call_id, planned, result, startedAt } = call;
  const broken = (against: number, message: string): readonly LawBreach[] => [
    breachOf('began_once', judged, { against, message }),
  ];
  if (planned.shares !== undefined) {
    return broken(batch.openedAt, `"${call_id}" shares the result of "${planned.shares}", but runs itself`);
  }
  const starts = event.kind === 'ToolCallStarted';
  if (starts && result !== null && !REFUSED.has(result.status)) {
    return broken(result.position, `"${call_id}" begins again: it is ${result.status}`);
  }
  const again = planned.repeatable ? null : againOf(event, call);
  return again === null ? [] : broken(startedAt ?? batch.openedAt, `"${call_id}" must not be repeated, but ${again}`);
}

/**
 * How a call that must not be repeated begins again; null when it does not. An attempt that was left to be continued does not:
 * its work was noted, or it ended with a question.
 */
function againOf(event: LawCase['folded']['event'], { startedAt, left, continued }: CallReading): string | null {
  if (event.kind === 'ToolCallStarted' && startedAt !== null && !left) return 'begins again';
  return 'attempt' in event && event.attempt > 1 && !continued ? `this is attempt ${event.attempt}` : null;
}

/** That such a call begins breaks another law. */
const REFUSED: ReadonlySet<string> = new Set(['denied', 'rejected']);
