// Retries of temporary failures: a capped exponential, multiplied by recorded jitter.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RETRY_CAP_MS_MAX } from '../../schemas/limits.ts';
import { retryDelay } from '../../reducers/retry.ts';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';

const RETRY = { attempts_max: 3, base_ms: 1_000, cap_ms: 1_500 };
const run = asking({}, { retry: RETRY });

describe('the delay', () => {
  test('is min(base * 2^(n-1), cap) * jitter / 1000, in whole milliseconds', () => {
    fc.assert(
      fc.property(
        fc.nat(RETRY_CAP_MS_MAX),
        fc.nat(RETRY_CAP_MS_MAX),
        fc.integer({ min: 1, max: 99 }),
        fc.integer({ min: 800, max: 1_200 }),
        (base_ms, cap_ms, failures, jitter_permille) => {
          const policy = { attempts_max: 100, base_ms, cap_ms };
          const wait = BigInt(base_ms) * 2n ** BigInt(failures - 1);
          const capped = wait < BigInt(cap_ms) ? wait : BigInt(cap_ms);
          const expected = Number((capped * BigInt(jitter_permille)) / 1_000n);
          expect(retryDelay(policy, failures, { retryable: true, jitter_permille })).toBe(expected);
        },
      ),
      { numRuns: 500 },
    );
  });

  test('is at least the wait that the provider asked for', () => {
    expect(retryDelay(RETRY, 1, { retryable: true, retry_after_ms: 90_000 })).toBe(90_000);
    expect(retryDelay(RETRY, 1, { retryable: true, retry_after_ms: 5 })).toBe(1_000);
  });

  test('is null for a permanent failure and after the last attempt', () => {
    expect(retryDelay(RETRY, 1, { retryable: false })).toBeNull();
    expect(retryDelay(RETRY, 1, {})).toBeNull();
    expect(retryDelay(RETRY, 3, { retryable: true })).toBeNull();
  });
});

describe('a generate', () => {
  const failed = (of: Session, rest: object = {}): Session =>
    of.takes('GenerateFailed', { ...of.turnFields(), code: 'busy', message: 'no', retryable: true, ...rest });
  const due = (of: Session): number => of.effectsOf('wake')[0]?.at_ms as number;
  const again = (of: Session): Session => of.takes('TimeReached', { due_at_ms: due(of) });

  test('that failed is owed again after the delay, under another effect id', () => {
    const first = failed(run.runRequested(), { jitter_permille: 1_100 });
    expect(owed(first)).toEqual(['wake']);
    expect(due(first)).toBe(first.state.updated_at_ms + 1_100);
    expect(first.refusal('TimeReached', { due_at_ms: due(first) - 1 }).code).toBe('time_not_due');
    const second = again(first);
    expect(second.effectsOf('llm.generate').map((effect) => effect.effect_id)).toEqual(['run-1/turn-1/retry-1']);
    expect(second.effectsOf('wake')).toEqual([]);
  });

  test('fails the run after the last attempt, with the last error', () => {
    const second = again(failed(run.runRequested()));
    const third = failed(second);
    expect(due(third)).toBe(third.state.updated_at_ms + 1_500);
    const over = failed(again(third), { code: 'still_busy' });
    expect(over.ending()).toMatchObject({ outcome: 'failed', code: 'still_busy' });
    expect(over.effects()).toEqual([]);
  });

  test('that fails permanently fails the run at once', () => {
    expect(failed(run.runRequested(), { retryable: false }).phase()).toBe('idle');
  });

  test('counts its failures per turn', () => {
    const next = again(failed(run.runRequested()))
      .observed([call('a', 'free')])
      .batchDone();
    expect(next.state.run).not.toHaveProperty('retry');
    expect(next.effectsOf('llm.generate')[0]?.effect_id).toBe('run-1/turn-2');
    expect(failed(next).state.run?.retry?.failures).toBe(1);
  });

  test('is reported once: between attempts an answer or a failure is refused', () => {
    const first = failed(run.runRequested());
    expect(first.refusal('GenerateFailed', { ...first.turnFields(), code: 'x', message: '' }).code).toBe('wrong_phase');
    expect(first.refusal('ToolCallsObserved', { ...first.turnFields(), calls: [] }).code).toBe('wrong_phase');
    expect(again(first).answered('at last').ending()).toMatchObject({ outcome: 'completed' });
  });

  test('of a paused run waits for its time and for the run to resume', () => {
    const paused = failed(run.runRequested()).paused();
    expect(owed(paused)).toEqual(['wake']);
    expect(owed(again(paused))).toEqual([]);
    expect(owed(again(paused).resumed())).toEqual(['llm.generate']);
    expect(owed(paused.resumed())).toEqual(['wake']);
  });
});

describe('a repeatable call', () => {
  const failing = (of: Session, id: string, rest: object = {}): Session =>
    of.takes('ToolCallSettled', {
      ...of.settlementFields(id, { success: false, code: 'busy' }),
      retryable: true,
      jitter_permille: 900,
      ...rest,
    });
  const open = calling(run, call('r', 'read', { path: 'a' }), call('w', 'write', { path: 'a' }), call('f', 'free'));

  test('that failed is owed again after the delay, as another attempt; dependent calls stay owed', () => {
    const first = failing(open.started('r'), 'r');
    expect(first.callState('r')).toMatchObject({ status: 'queued', attempt: 2, owner: null });
    expect(owed(first)).toEqual(['tool.call w', 'tool.call f', 'wake']);
    expect(first.effectsOf('tool.call')[0]).toMatchObject({ call_id: 'w', after: ['r'] });
    expect(first.effectsOf('wake')[0]?.at_ms).toBe(first.state.updated_at_ms + 900);
    const second = first.takes('TimeReached', { due_at_ms: first.state.updated_at_ms + 900 });
    expect(second.effectsOf('tool.call').map((effect) => effect.effect_id)).toEqual([
      'batch-1/r/2',
      'batch-1/w/1',
      'batch-1/f/1',
    ]);
    expect(second.state.active_tool_batch).not.toHaveProperty('timed');
    expect(statuses(second.settled('r'))).toEqual(['succeeded', 'queued', 'queued']);
  });

  test('cannot be started or settled before its time, nor by its old attempt later', () => {
    const first = failing(open, 'r');
    expect(first.refusal('ToolCallSettled', first.settlementFields('r')).code).toBe('call_not_ready');
    expect(first.refusal('ToolCallStarted', { ...first.callFields('r'), owner: 'b' }).code).toBe('call_not_ready');
    const second = first.takes('TimeReached', { due_at_ms: 1_000_000 });
    expect(second.refusal('ToolCallSettled', second.settlementFields('r', { attempt: 1 })).code).toBe('stale_attempt');
  });

  test('fails after the last attempt, with the last error', () => {
    let now = open;
    for (let attempt = 1; attempt < RETRY.attempts_max; attempt += 1) {
      now = failing(now, 'r');
      now = now.takes('TimeReached', { due_at_ms: now.effectsOf('wake')[0]?.at_ms as number });
    }
    const over = failing(now, 'r', { output: { text: 'still busy' } });
    expect(over.callState('r')).toMatchObject({ status: 'failed', attempt: 3, code: 'busy' });
    expect(over.settled('w').settled('f').batchSettled().transcript().at(-3)).toBe('tool! r still busy');
  });

  test('has no second attempt when it is not repeatable, succeeded or was cancelled', () => {
    const once = calling(run, call('o', 'once')).started('o');
    expect(statuses(failing(once, 'o'))).toEqual(['failed']);
    expect(statuses(failing(open, 'r', { result: { success: true } }))[0]).toBe('succeeded');
    expect(statuses(failing(open, 'r', { outcome: 'cancelled' }))[0]).toBe('cancelled');
    expect(statuses(failing(open, 'r', { retryable: false }))[0]).toBe('failed');
  });

  test('that waits for a retry is cancelled with its run, and state waits for no time', () => {
    const over = failing(open, 'r').cancelled();
    expect(over.phase()).toBe('idle');
    expect(over.effects()).toEqual([]);
  });
});
