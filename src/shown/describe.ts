// How moments and tokens are written in explanations.
import { paint } from './paint.ts';
import type { Usage } from '../../schemas/run.ts';
import type { Moment } from '../core/explain-confirmation.ts';

/** An event is named by its position, which counts from 0, in all that refold prints. */
export const describeMoment = ({ position, at_ms }: Moment): string =>
  `position ${position} ${paint.dim(new Date(at_ms).toISOString())}`;

/** `1200 tokens in (1000 cached, 100 written to the cache), 80 out (20 thinking)`. */
export function describeUsage(usage: Usage): string {
  const { input_tokens, output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens } = usage;
  const among = (parts: readonly (readonly [count: number | undefined, what: string])[]): string => {
    const stated = parts.flatMap(([count, what]) => (count === undefined ? [] : [`${count} ${what}`]));
    return stated.length === 0 ? '' : ` (${stated.join(', ')})`;
  };
  const cached = among([
    [cached_tokens, 'cached'],
    [cache_write_tokens, 'written to the cache'],
  ]);
  return `${input_tokens} tokens in${cached}, ${output_tokens} out${among([[reasoning_tokens, 'thinking']])}`;
}
