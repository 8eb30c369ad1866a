// The tokens that a framework says an answer used. Its counts are a provider's, or computed from one's, so that any may be
// absent or no count at all: the record takes whole numbers alone, and no answer is lost for its count.
import type { Usage } from '../../schemas/index.ts';

/** By the field of the record. */
export type GivenUsage = { readonly [Field in keyof Usage]?: unknown };

/** The `usage` of a reply; none when nothing was counted. What is no count is left out, or is 0 where the record needs a number. */
export function countedUsage({ input_tokens, output_tokens, ...further }: GivenUsage): { readonly usage?: Usage } {
  const input = countOf(input_tokens);
  const output = countOf(output_tokens);
  if (input === null && output === null) return {};
  const counted = Object.entries(further).flatMap(([field, given]) => {
    const count = countOf(given);
    return count === null ? [] : [[field, count] as const];
  });
  return { usage: { input_tokens: input ?? 0, output_tokens: output ?? 0, ...Object.fromEntries(counted) } };
}

const countOf = (given: unknown): number | null =>
  typeof given !== 'number' || !(given >= 0) ? null : Math.min(Math.round(given), Number.MAX_SAFE_INTEGER);
