// The loop guard (docs/design.md, "Settled questions"): the same call with the same arguments, made many times in a row,
// is answered instead of being run; made again after that, it ends the run.
import type { RunState } from '../schemas/run.ts';
import type { ToolCallObserved } from '../schemas/tool-call.ts';
import type { Refusal } from './judge-call.ts';
import { argumentsDigest } from '../schemas/tool-call.ts';
import { type RuleSet, codedText } from './rules/rule-set.ts';

export interface RepeatVerdict {
  readonly repeat: RunState['repeat'];
  /** Calls to refuse, by index. */
  readonly refused: ReadonlyMap<number, Refusal>;
  /** The model repeated the call after an earlier turn had refused it. */
  readonly exhausted: boolean;
}

export function guardRepeats(
  rules: RuleSet,
  calls: readonly ToolCallObserved[],
  before: RunState['repeat'],
  repeatsMax: number,
): RepeatVerdict {
  const refused = new Map<number, Refusal>();
  let repeat = { ...before };
  let refusedBefore = before.count >= repeatsMax;
  let exhausted = false;
  for (const [index, call] of calls.entries()) {
    const arguments_digest = argumentsDigest(call);
    const same = repeat.tool_name === call.tool_name && repeat.arguments_digest === arguments_digest;
    repeat = { arguments_digest, count: same ? repeat.count + 1 : 1, tool_name: call.tool_name };
    refusedBefore &&= same;
    if (refusedBefore) exhausted = true;
    if (repeat.count >= repeatsMax) refused.set(index, codedText(rules, 'repeated_call', { count: repeat.count }));
  }
  return { repeat, refused, exhausted };
}
