// What the results of one batch take together. They become one part of the conversation, which is sealed into one blob, so
// they have a common limit: a result beyond it is left out, and its text says so.
import { canonicalText } from '../schemas/canonical.ts';
import type { Content } from '../schemas/content.ts';
import { BATCH_OUTPUT_BYTES_MAX, BATCH_OUTPUT_KEPT_BYTES, INLINE_CHARS_MAX } from '../schemas/limits.ts';
import type { ActiveToolBatch, CallState } from '../schemas/state.ts';
import { type RuleSet, ruleText } from './rules/rule-set.ts';

/** More than any content takes: each of its characters may be escaped in six bytes. */
const CONTENT_BYTES_MAX = 6 * INLINE_CHARS_MAX + 256;

export interface BatchOutput {
  /** The content that `copies` calls of the batch get: the given one, or a text that says why not. */
  fit(output: Content, copies: number): Content;
}

/** `pages`: what has its result already. */
export function newBatchOutput(rules: RuleSet, calls: number, pages: ActiveToolBatch['pages'] = []): BatchOutput {
  let spent: number | null = null;
  return {
    fit(output, copies) {
      if (calls * CONTENT_BYTES_MAX <= BATCH_OUTPUT_BYTES_MAX) return output;
      const bytes = bytesOf(output);
      if (bytes <= BATCH_OUTPUT_KEPT_BYTES) return output;
      spent ??= pages.reduce((sum, page) => sum + bytesOfPage(page), 0);
      if (spent + copies * bytes > BATCH_OUTPUT_BYTES_MAX) {
        return { text: ruleText(rules, 'result_left_out', { max: BATCH_OUTPUT_BYTES_MAX }) };
      }
      spent += copies * bytes;
      return output;
    },
  };
}

const known = new WeakMap<object, number>();

/** The bytes of an output as JSON. An output is frozen, and settled pages are, so each is counted once. */
function bytesOf(output: Content): number {
  let bytes = known.get(output);
  if (bytes === undefined) {
    bytes = new TextEncoder().encode(canonicalText(output)).length;
    if (Object.isFrozen(output)) known.set(output, bytes);
  }
  return bytes;
}

function bytesOfPage(page: readonly CallState[]): number {
  let bytes = known.get(page);
  if (bytes === undefined) {
    bytes = 0;
    for (const { output } of page) {
      const size = output === null ? 0 : bytesOf(output);
      if (size > BATCH_OUTPUT_KEPT_BYTES) bytes += size;
    }
    if (Object.isFrozen(page)) known.set(page, bytes);
  }
  return bytes;
}
