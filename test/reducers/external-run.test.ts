// External runs: the calls come from a host outside, so that nothing is owed for the model.
import { describe, expect, test } from 'vitest';
import { owesBridge } from '../../src/core/owed/owing.ts';
import { statusOf } from '../../src/core/status.ts';
import { asking, owed } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';
import { ASKS, FREE } from '../support/tools.ts';

const EXTERNAL = { provider: 'external', model: 'host', context: { mark: 1 } } as const;
const start = asking({}, {}, [FREE, ASKS]);
const run = (): Session => start.runRequested(EXTERNAL);
const offered = (of: Session): readonly string[] =>
  of.state.run?.offer?.ordered_tools.map(({ tool_name }) => tool_name) ?? [];

describe('an external run', () => {
  test('owes no generate, and has its offer pinned', () => {
    expect(run().effects()).toEqual([]);
    expect(owesBridge(run().state)).toBe(false);
    expect(statusOf(run().state)).toBe('running');
    expect(offered(run())).toContain('free');
  });

  test('makes calls that are planned and run like those of a model, turn after turn', () => {
    const called = run().observed([call('a', 'free', { n: 1 })]);
    expect(owed(called)).toEqual(['tool.call a']);
    const next = called.settled('a').batchSettled();
    expect(next.effects()).toEqual([]);
    expect(next.state.run?.turn).toBe(2);
    expect(next.observed([call('b', 'free', { n: 2 })]).effects()).toHaveLength(1);
  });

  test('is never compacted, whatever its tokens', () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0 };
    const next = run()
      .observed([call('a', 'free', { n: 1 })], { usage })
      .batchDone();
    expect(next.state.run?.compact).toBeUndefined();
    expect(next.effects()).toEqual([]);
  });

  test('takes no failure of a generate, which would be retried', () => {
    const { run_id, turn } = run().turnFields();
    const failed = { run_id, turn, code: 'busy', message: 'no', retryable: true };
    expect(run().refusal('GenerateFailed', failed).code).toBe('wrong_phase');
  });

  test('offers what is effective until the host calls; a run with a model keeps the offer of its turn', () => {
    const disabled = (of: Session): Session =>
      of.takes('ToolOverridesSet', { scope: 'session', disable: [FREE.tool_id] });
    expect(offered(disabled(run()))).not.toContain('free');
    expect(offered(disabled(start.runRequested()))).toContain('free');
    const called = disabled(run().observed([call('a', 'free', { n: 1 })]));
    expect(offered(called)).toContain('free');
  });

  test('asks a person like every run', () => {
    const called = run().observed([call('a', 'asks', {})]);
    expect(owed(called)).toEqual(['agent.tool_use a']);
    expect(statusOf(called.state)).toBe('requires_action');
  });

  test('ends when its host says that it is complete', () => {
    expect(run().observed([]).state.run_history.at(-1)?.ending.outcome).toBe('completed');
  });
});
