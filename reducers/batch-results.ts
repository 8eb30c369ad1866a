// The results of one batch: their digest, which `ToolBatchSettled` records and which binds what the model was told to the
// log (AOS P7, "Ingress/Event Changes"), and what they take together. They become one part of the conversation, which is
// sealed into one blob, so they have a common limit: a result beyond it is left out, and its text says so.
import { canonicalText, digestJson } from '../schemas/canonical.ts';
import type { Attachments, Content } from '../schemas/content.ts';
import type { Digest } from '../schemas/ids.ts';
import { BATCH_OUTPUT_BYTES_MAX, BATCH_OUTPUT_KEPT_BYTES, INLINE_CHARS_MAX } from '../schemas/limits.ts';
import type { ActiveToolBatch, CallState } from '../schemas/state.ts';
import { callStateAt } from './batch-index.ts';
import { type RuleSet, ruleText } from './rules/rule-set.ts';

// A settled batch is frozen, and its digest is asked for twice: when the event is completed, and when it is admitted.
const known = new WeakMap<ActiveToolBatch, Digest>();

/**
 * The digest of the list of results in call order: for each observed call `{call_id, code, output, status}`, as state has
 * them, and its `attachments` if it has some. Rejected calls are among them; `output` is what the model reads, inline or as
 * a reference.
 */
export function resultsDigest(batch: ActiveToolBatch): Digest {
  const digested = known.get(batch);
  if (digested !== undefined) return digested;
  const results = batch.observed.map(({ call_id }, position) => {
    const { attachments, code = null, output = null, status = null } = callStateAt(batch, position) ?? {};
    return { ...(attachments === undefined ? {} : { attachments }), call_id, code, output, status };
  });
  const made = digestJson(results);
  if (Object.isFrozen(batch)) known.set(batch, made);
  return made;
}

/** More than any content takes: each of its characters may be escaped in six bytes. */
const CONTENT_BYTES_MAX = 6 * INLINE_CHARS_MAX + 256;

export interface CallOutput {
  readonly output: Content;
  readonly attachments?: Attachments;
}

export interface BatchOutput {
  /** What `copies` calls of the batch get: the output with its attachments, or a text that says why not. */
  fit(output: Content, copies: number, attachments?: Attachments): CallOutput;
}

/** `pages`: what has its result already. */
export function newBatchOutput(rules: RuleSet, calls: number, pages: ActiveToolBatch['pages'] = []): BatchOutput {
  let spent: number | null = null;
  return {
    fit(output, copies, attachments) {
      const given = attachments === undefined ? { output } : { attachments, output };
      if (calls * CONTENT_BYTES_MAX <= BATCH_OUTPUT_BYTES_MAX) return given;
      const bytes = bytesOfResult(given);
      if (bytes <= BATCH_OUTPUT_KEPT_BYTES) return given;
      spent ??= pages.reduce((sum, page) => sum + bytesOfPage(page), 0);
      if (spent + copies * bytes > BATCH_OUTPUT_BYTES_MAX) {
        return { output: { text: ruleText(rules, 'result_left_out', { max: BATCH_OUTPUT_BYTES_MAX }) } };
      }
      spent += copies * bytes;
      return given;
    },
  };
}

const sizes = new WeakMap<object, number>();

const bytesOfResult = ({ output, attachments }: Pick<CallState, 'attachments' | 'output'>): number =>
  (output === null ? 0 : bytesOf(output)) + (attachments === undefined ? 0 : bytesOf(attachments));

/** The bytes of an output as JSON. An output is frozen, and settled pages are, so each is counted once. */
function bytesOf(output: Content | Attachments): number {
  let bytes = sizes.get(output);
  if (bytes === undefined) {
    bytes = new TextEncoder().encode(canonicalText(output)).length;
    if (Object.isFrozen(output)) sizes.set(output, bytes);
  }
  return bytes;
}

function bytesOfPage(page: readonly CallState[]): number {
  let bytes = sizes.get(page);
  if (bytes === undefined) {
    bytes = 0;
    for (const call of page) {
      const size = bytesOfResult(call);
      if (size > BATCH_OUTPUT_KEPT_BYTES) bytes += size;
    }
    if (Object.isFrozen(page)) sizes.set(page, bytes);
  }
  return bytes;
}
