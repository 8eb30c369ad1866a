// An answer that its provider did not finish is no turn: on record, it would be given again for ever.
import type { ModelAnswer } from './model-types.ts';

/**
 * Gives the answer back. Throws when it was cut off: its provider says so, or it is empty and has no reason to have ended, which
 * is what providers make of a response that they cannot read.
 */
export function completeAnswer(answer: ModelAnswer): ModelAnswer {
  const { unified, raw } = answer.finishReason;
  const isUnread = answer.content.length === 0 && raw === undefined && (unified === 'other' || unified === 'error');
  if (unified !== 'interrupted' && !isUnread) return answer;
  throw new Error(`the response of the model ended before its answer was complete (${unified})`);
}
