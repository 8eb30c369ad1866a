// A call that must not be repeated began once (docs/design.md, law 12).
import { type LawBreach, type LawCase, breachOf } from './breach.ts';
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
  if (planned.repeatable) return [];
  // An attempt that was left to be continued does not begin again: its work was noted, or it ended with a question.
  if (starts && startedAt !== null && !call.left)
    return broken(startedAt, `"${call_id}" must not be repeated, but begins again`);
  if (!('attempt' in event) || event.attempt === 1 || call.continued) return [];
  const message = `"${call_id}" must not be repeated, but this is attempt ${event.attempt}`;
  return broken(startedAt ?? batch.openedAt, message);
}

/** That such a call begins breaks another law. */
const REFUSED: ReadonlySet<string> = new Set(['denied', 'rejected']);
