// How much Claude may think. Converse has no field for it: the fields of the Messages API are passed through
// `additionalModelRequestFields`. Other models have fields of their own or none, and get none.
import { type ExactObject, RawJson, isExactObject } from '../api/exact-json.ts';
import { traitsOf } from '../anthropic/claude-version.ts';
import { planThinking } from '../anthropic/thinking.ts';
import type { GenerateRequest } from '../provider.ts';
import { type ConverseMessage, isReasoning } from './messages.ts';
import { isClaude } from './model-traits.ts';

export interface Sampling {
  /** `additionalModelRequestFields`; null for none. */
  readonly fields: ExactObject | null;
  /** Null where none is given, or the model refuses one: Claude does while it thinks, and from 4.7 on. */
  readonly temperature: number | null;
}

export function samplingOf(request: GenerateRequest, model: string, messages: readonly ConverseMessage[]): Sampling {
  const { reasoning = null, temperature = null, output_tokens_max, tool_choice = null, tools } = request;
  if (!isClaude(model)) return { fields: null, temperature };
  const traits = traitsOf(model);
  const forced = tools.length > 0 && tool_choice !== null && tool_choice !== 'auto' && tool_choice !== 'none';
  const wish = { reasoning, output_tokens_max, forced, mayContinue: !isMidTurnWithoutThinking(messages) };
  const { thinking, effort } = planThinking(wish, traits);
  const thinks = isExactObject(thinking) && thinking['type'] !== 'disabled';
  return {
    fields: thinking === null ? null : { thinking, ...(effort === null ? {} : { output_config: { effort } }) },
    temperature: thinks || !traits.temperature ? null : temperature,
  };
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
