// The budgets of a run, tokens and wall time (exceeded beyond the limit, not at it), and the check of results against the
// output schema.
import { describe, expect, test } from 'vitest';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';

describe('tokens_max', () => {
  const usage = (input_tokens: number, output_tokens = 0) => ({ usage: { input_tokens, output_tokens } });
  const run = asking({}, { tokens_max: 400 }).runRequested();

  test('at the limit the run continues; beyond it the calls are not made', () => {
    const at = run.observed([call('a', 'free')], usage(300, 100));
    expect(at.phase()).toBe('executing');
    const beyond = at.batchDone().observed([call('b', 'free', { n: 2 })], usage(0, 1));
    expect(beyond.ending()).toMatchObject({ outcome: 'failed', code: 'tokens_exceeded' });
    expect(beyond.transcript().at(-1)).toMatch(/^tool! b error: tokens_exceeded: This call was not run\. /);
    expect(beyond.state.run_history[0]?.usage).toEqual({ input_tokens: 300, output_tokens: 101 });
  });

  test('an answer without calls is accepted even beyond the limit', () => {
    const over = run.observed([], { content: { text: 'done' }, ...usage(9_000) });
    expect(over.ending()).toMatchObject({ outcome: 'completed', output: { text: 'done' } });
  });

  test('beyond the limit no further turn begins, not even for steers', () => {
    const over = run.steered('and this').observed([], { content: { text: 'done' }, ...usage(401) });
    expect(over.ending()).toMatchObject({ outcome: 'failed', code: 'tokens_exceeded' });
    expect(run.steered('and this').observed([], usage(400)).phase()).toBe('generating');
  });

  test('counts per run, and not at all when it is null or absent', () => {
    const next = run
      .observed([call('a', 'free')], usage(400))
      .batchDone()
      .answered('x')
      .runRequested();
    expect(next.observed([call('b', 'free', { n: 1 })], usage(400)).phase()).toBe('executing');
    const none = asking({}, { tokens_max: null }).runRequested();
    expect(none.observed([call('a', 'free')], usage(2 ** 52)).phase()).toBe('executing');
  });
});

describe('wall_ms_max', () => {
  const LIMIT = 30_000;
  const run = (of = asking({}, { wall_ms_max: LIMIT })): Session => of.runRequested();
  const due = (of: Session): number => (of.state.run?.started_at_ms ?? 0) + LIMIT;
  const late = (of: Session): Session => of.takes('TimeReached', { due_at_ms: due(of) });

  test('is a time that state waits for, and ends the run when it comes', () => {
    const now = run();
    expect(now.effectsOf('wake')[0]?.at_ms).toBe(due(now));
    expect(now.refusal('TimeReached', { due_at_ms: due(now) - 1 }).code).toBe('time_not_due');
    expect(late(now).ending()).toMatchObject({ outcome: 'failed', code: 'time_exceeded' });
    expect(late(now).effects()).toEqual([]);
  });

  test.each([
    ['opening', asking({}, { wall_ms_max: LIMIT, host_session_open: true })],
    ['paused', asking({}, { wall_ms_max: LIMIT })],
  ] as const)('%s runs take time as well', (which, of) => {
    const now = which === 'paused' ? run(of).paused() : run(of);
    expect(late(now).phase()).toBe('idle');
  });

  test('running calls are stopped and settle first; other calls that were due are cancelled with the run', () => {
    // The question, the custom call and the run expire in the same event.
    const of = asking({ approval_ttl_ms: LIMIT / 2 }, { wall_ms_max: LIMIT });
    const busy = calling(of, call('f', 'free'), call('q', 'asks'), call('t', 'timed_person', { path: 'a' })).started(
      'f',
    );
    const ending = late(busy);
    expect(ending.phase()).toBe('cancelling');
    expect(statuses(ending)).toEqual(['running', 'cancelled', 'cancelled']);
    expect(owed(ending)).toEqual(['tool.cancel f']);
    const over = ending.settled('f', { outcome: 'cancelled' });
    expect(over.ending()).toMatchObject({ outcome: 'failed', code: 'time_exceeded' });
    expect(over.effects()).toEqual([]);
  });

  test('a run that is ending already is not ended again', () => {
    const ending = calling(asking({}, { wall_ms_max: LIMIT }), call('f', 'free'))
      .started('f')
      .interrupted();
    expect(ending.effectsOf('wake')).toEqual([]);
  });

  test('still counts for a redirected run', () => {
    const on = run().takes('user.interrupt', { run_id: 'run-1', input: { text: 'this' } });
    expect(late(on).ending()).toMatchObject({ code: 'time_exceeded' });
  });
});

describe('output_schema', () => {
  const misfit = { output_verdict: { valid: false, path: '/n', message: 'must be integer' } };
  const run = calling(asking({}, { completion: 'steerable' }), call('r', 'read', { path: 'a' }));
  const settled = (rest: object): Session =>
    run.takes('ToolCallSettled', { ...run.settlementFields('r'), ...misfit, ...rest });

  test('a result that does not fit is a failure that the model reads, and does not end the run', () => {
    const failed = settled({});
    expect(failed.callState('r')).toMatchObject({ status: 'failed', code: 'tool_invalid_result', terminal: false });
    const next = failed.batchSettled();
    expect(next.transcript().at(-1)).toBe(
      'tool! r error: tool_invalid_result: The call ran, but its result does not fit the output schema of the tool at /n: ' +
        'must be integer. Check its effects before you make it again.',
    );
    expect(next.phase()).toBe('generating');
  });

  test('such a failure is not retried', () => {
    expect(statuses(settled({ retryable: true }))).toEqual(['failed']);
  });

  test('the verdict has no effect on a failure or on a result that fits', () => {
    expect(settled({ result: { success: false }, code: 'not_found' }).callState('r')?.code).toBe('not_found');
    expect(statuses(settled({ output_verdict: { valid: true } }))).toEqual(['succeeded']);
  });
});
