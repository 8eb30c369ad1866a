// How much the model may think, and what does not go together with it.
import type { Reasoning } from '../../../schemas/run.ts';
import type { ExactJson } from '../api/exact-json.ts';
import type { ModelTraits } from './claude-version.ts';

/** What a request says about thinking and the length of the answer. */
export interface ThinkingPlan {
  readonly max_tokens: number;
  readonly thinking: ExactJson | null;
  readonly effort: string | null;
  /** The request is known to turn thinking off: the API refuses thinking blocks in the last turn. */
  readonly off: boolean;
}

export interface ThinkingWish {
  readonly reasoning: Reasoning | null;
  readonly output_tokens_max: number | null;
  /** The model must call a tool. */
  readonly forced: boolean;
  /** The turn that goes on begins with thinking, or no turn goes on. */
  readonly mayContinue: boolean;
}

const EFFORT_BUDGETS = { minimal: 1_024, low: 4_096, medium: 8_192, high: 16_384, max: 24_576 } as const;
const EFFORT_WORDS = { minimal: 'low', low: 'low', medium: 'medium', high: 'high', max: 'max' } as const;
/** The smallest budget that the API takes. */
const BUDGET_MIN = 1_024;
/** What a budget leaves for the answer when the run limits both together, and when it limits neither. */
const ANSWER_MIN = 1_024;
const ANSWER_DEFAULT = 8_192;

export function planThinking(wish: ThinkingWish, traits: ModelTraits): ThinkingPlan {
  const max_tokens = wish.output_tokens_max ?? traits.outputTokens;
  const plain = { max_tokens, thinking: null, effort: null, off: traits.unasked === 'off' };
  if (traits.thinking === 'none') return plain;
  if (traits.thinking === 'adaptive') return adaptivePlan(wish.reasoning, traits, plain);
  const budget = wish.reasoning === null ? null : budgetOf(wish.reasoning);
  // The API refuses a forced call with a budget, and a turn that goes on without the thinking it began with.
  if (budget === null || wish.forced || !wish.mayContinue) return plain;
  if (wish.output_tokens_max === null) return enabled(budget, Math.max(max_tokens, budget + ANSWER_DEFAULT));
  const fitting = Math.min(budget, max_tokens - ANSWER_MIN);
  return fitting < BUDGET_MIN ? plain : enabled(fitting, max_tokens);
}

const enabled = (budget_tokens: number, max_tokens: number): ThinkingPlan => ({
  max_tokens,
  thinking: { type: 'enabled', budget_tokens },
  effort: null,
  off: false,
});

function adaptivePlan(reasoning: Reasoning | null, traits: ModelTraits, plain: ThinkingPlan): ThinkingPlan {
  if (reasoning === null) return plain;
  const effort = effortOf(reasoning);
  if (effort !== null) return { ...plain, thinking: { type: 'adaptive' }, effort, off: false };
  return traits.unasked === 'on' ? { ...plain, thinking: { type: 'disabled' }, off: true } : plain;
}

/** Null for no thinking. The tokens count before the effort. */
function budgetOf({ effort, tokens_max }: Reasoning): number | null {
  if (effort === 'none' || tokens_max === 0) return null;
  return Math.max(BUDGET_MIN, tokens_max ?? (effort === undefined ? EFFORT_BUDGETS.medium : EFFORT_BUDGETS[effort]));
}

/** Null for no thinking. The effort counts before the tokens, which these models cannot be told. */
function effortOf({ effort, tokens_max }: Reasoning): string | null {
  if (effort === 'none' || tokens_max === 0) return null;
  if (effort !== undefined) return EFFORT_WORDS[effort];
  if (tokens_max === undefined) return 'high';
  return tokens_max <= EFFORT_BUDGETS.low ? 'low' : tokens_max <= EFFORT_BUDGETS.medium ? 'medium' : 'high';
}
