// What many results take together: every batch can end, and its page fits a blob.
import { describe, expect, test } from 'vitest';
import {
  BATCH_OUTPUT_BYTES_MAX,
  BATCH_OUTPUT_KEPT_BYTES,
  BLOB_BYTES_MAX,
  INLINE_CHARS_MAX,
} from '../../schemas/limits.ts';
import { foldNew } from '../../src/core/step.ts';
import type { NewEvent } from '../../schemas/event.ts';
import type { SessionState } from '../../schemas/state.ts';
import { isRight } from 'fp-ts/lib/Either.js';
import { call, session } from '../support/session.ts';

/** The longest text that is inline; each of its characters takes six bytes as JSON. */
const LARGE = '\u0001'.repeat(INLINE_CHARS_MAX);

function fold(state: SessionState, event: object) {
  const folded = foldNew(state, {
    v: 1,
    event_id: `e-${state.version}`,
    at_ms: state.updated_at_ms,
    ...event,
  } as NewEvent);
  if (!isRight(folded)) throw new Error(`${folded.left.code}: ${folded.left.message}`);
  return folded.right;
}

function settleAll(state: SessionState, text: string): SessionState {
  const { batch_id, plan } = state.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
  let next = state;
  const open = new Set(outputsIn(state).flatMap(({ status }, index) => (status === 'queued' ? [index] : [])));
  for (const [index, { call_id, shares }] of plan.planned_calls.entries()) {
    if (shares !== undefined || !open.has(index)) continue;
    const report = { batch_id, call_id, plan_hash: plan.plan_hash, attempt: 1 };
    next = fold(next, { kind: 'ToolCallSettled', ...report, result: { success: true }, output: { text } }).state;
  }
  return next;
}

const COUNT = 1_000;

/** The state with an open batch of calls with the arguments of each. */
const opened = (pathOf: (index: number) => string, config: object = {}): SessionState =>
  session()
    .takes('SessionConfigured', { config: { repeats_max: 1_000, ...config } })
    .runRequested()
    .observed(Array.from({ length: COUNT }, (_, index) => call(`c${index}`, 'read', { path: pathOf(index) }))).state;

const outputsIn = ({ active_tool_batch: batch }: SessionState) => batch?.pages.flat() ?? [];

describe('a batch with the largest results', () => {
  test.each([
    ['of each call', (index: number) => `p${index}`, {}],
    ['of one call, which the others share', () => 'p', { share_reads: true }],
  ])('ends, in a page that fits a blob (%s)', (_name, pathOf, config) => {
    const settled = settleAll(opened(pathOf, config), LARGE);
    const outputs = outputsIn(settled).map(({ output }) => JSON.stringify(output));
    expect(outputs.join('').length).toBeLessThan(BATCH_OUTPUT_BYTES_MAX + COUNT * BATCH_OUTPUT_KEPT_BYTES);
    expect(outputs.filter((output) => output.includes('left out')).length).toBeGreaterThan(0);
    const { batch_id, plan } = settled.active_tool_batch as NonNullable<SessionState['active_tool_batch']>;
    const { sealed, state } = fold(settled, { kind: 'ToolBatchSettled', batch_id, plan_hash: plan.plan_hash });
    expect(sealed).not.toBeNull();
    expect(Buffer.byteLength(sealed?.text ?? '')).toBeLessThan(BLOB_BYTES_MAX / 2);
    expect(state.active_tool_batch).toBeNull();
  });

  test('keeps every small result, and the status and the code of each', () => {
    const settled = settleAll(
      settleAll(
        opened((index) => `p${index}`),
        'x'.repeat(400),
      ),
      '',
    );
    for (const { output, status, code } of outputsIn(settled)) {
      expect({ output, status, code }).toEqual({ output: { text: 'x'.repeat(400) }, status: 'succeeded', code: null });
    }
  });

  test('keeps what fits, in the order of settlement', () => {
    const settled = settleAll(
      opened((index) => `p${index}`),
      LARGE,
    );
    const kept = outputsIn(settled).map(({ output }) => output !== null && 'text' in output && output.text === LARGE);
    expect(kept.indexOf(false)).toBe(Math.floor(BATCH_OUTPUT_BYTES_MAX / JSON.stringify({ text: LARGE }).length));
    expect(kept.lastIndexOf(true)).toBeLessThan(kept.indexOf(false));
    expect(outputsIn(settled).every(({ status }) => status === 'succeeded')).toBe(true);
  });
});
