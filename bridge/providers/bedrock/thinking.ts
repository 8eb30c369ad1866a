// How much Claude may think. Converse has no field for it: the model's own are passed through `additionalModelRequestFields`.
// Other models have fields of their own or none, and get none.
import type { Reasoning } from '../../../schemas/run.ts';
import { type ExactObject, RawJson, isExactObject } from '../api/exact-json.ts';
import { type ConverseMessage, isReasoning } from './messages.ts';
import { isClaude, thinksAdaptively } from './model-traits.ts';

type Effort = NonNullable<Reasoning['effort']>;

/** The least that Claude takes as a budget. */
const BUDGET_MIN = 1_024;
const BUDGETS: Readonly<Record<Exclude<Effort, 'none'>, number>> = {
  minimal: BUDGET_MIN,
  low: 4_096,
  medium: 8_192,
  high: 16_384,
  max: 32_768,
};

export interface ThinkingRequest {
  readonly model: string;
  readonly reasoning: Reasoning | null;
  readonly outputTokensMax: number | null;
  readonly messages: readonly ConverseMessage[];
}

/** The fields that ask for thinking; null for none. */
export function thinkingFields({ model, reasoning, outputTokensMax, messages }: ThinkingRequest): ExactObject | null {
  const { effort, tokens_max } = reasoning ?? {};
  const asked = effort !== undefined || tokens_max !== undefined;
  if (!asked || effort === 'none' || tokens_max === 0 || !isClaude(model)) return null;
  if (thinksAdaptively(model)) {
    const word = effort === 'minimal' ? 'low' : effort;
    return {
      thinking: { type: 'adaptive' },
      ...(word === undefined ? {} : { output_config: { effort: word } }),
    };
  }
  // The budget is part of the output.
  const wanted = Math.max(BUDGET_MIN, tokens_max ?? BUDGETS[effort ?? 'medium']);
  const budget = Math.min(wanted, (outputTokensMax ?? Number.POSITIVE_INFINITY) - 1);
  if (budget < BUDGET_MIN || isMidTurnWithoutThinking(messages)) return null;
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

/**
 * With a budget, Claude refuses results whose calls were made in a turn that does not begin with its own thinking: one of
 * another model, or with calls that a person changed.
 */
function isMidTurnWithoutThinking(messages: readonly ConverseMessage[]): boolean {
  const turn = messages.findLast(({ role }) => role === 'assistant')?.content ?? [];
  const [first] = turn;
  const called = turn.some((block) => isExactObject(block) && 'toolUse' in block);
  return called && !(first instanceof RawJson && isReasoning(first.text));
}
