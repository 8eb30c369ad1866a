// Refuses JSON of a model server that would cost far more to read than to receive: a comma of one byte can become an object of
// a hundred, and deep nesting exceeds the stack. While the bridge reads, it renews no lease.
import { countMarks, measureJson } from '../../../schemas/json/json-scan.ts';
import { REPLY_DEPTH_MAX, REPLY_VALUES_MAX, REPLY_VALUES_SUM_MAX } from '../../../schemas/limits.ts';
import { ProviderError } from '../provider.ts';

/** Throws a {@link ProviderError} for a text of too many values, or nested too deeply. */
export function refuseCostly(text: string): void {
  const fault = costOf(text);
  if (fault !== null) throw new ProviderError('provider_terminal', `the server sent JSON ${fault}`);
}

/** The same for the events of one answer, one after the other: many that each cost little are refused as well. */
export function newCostGuard(): (text: string) => void {
  let sum = 0;
  return (text) => {
    refuseCostly(text);
    sum += countMarks(text);
    if (sum <= REPLY_VALUES_SUM_MAX) return;
    const many = `the answer has more than ${REPLY_VALUES_SUM_MAX} commas and brackets in all its events`;
    throw new ProviderError('provider_terminal', many);
  };
}

/** Why the text is not read; null for any other. Nearly all events are too short to need a look. */
export function costOf(text: string): string | null {
  if (text.length <= REPLY_DEPTH_MAX) return null;
  const { marks, depth } = measureJson(text, REPLY_VALUES_MAX);
  if (depth > REPLY_DEPTH_MAX) return `that is nested more than ${REPLY_DEPTH_MAX} levels deep`;
  if (marks > REPLY_VALUES_MAX) return `with more than ${REPLY_VALUES_MAX} commas and brackets in one piece`;
  return null;
}
