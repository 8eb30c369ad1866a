// `user.interrupt`, with and without input, in every phase (openboa, "Managed tool confirmation").
import { describe, expect, test } from 'vitest';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call, session } from '../support/session.ts';

const redirected = (of: Session, text = 'rather this'): Session =>
  of.takes('user.interrupt', { run_id: of.runId(), input: { text }, reason: 'typed', by: 'ann' });

/** A batch with a call in each open status, and a running call for each `interrupt_behavior`. */
const busy = (of: Session = session()): Session =>
  calling(
    of,
    call('block', 'free'),
    call('stop', 'once'),
    call('queued', 'free', { n: 2 }),
    call('waits', 'asks'),
    call('hand', 'person'),
  )
    .started('block')
    .started('stop');

const IDLE_BATCH = calling(session(), call('a', 'free'), call('q', 'asks'));

describe('without input the run ends', () => {
  test.each([
    ['opening', session().runRequested({ host_session_open: true })],
    ['generating', session().runRequested()],
    ['executing', IDLE_BATCH],
    ['paused_opening', session().runRequested({ host_session_open: true }).paused()],
    ['paused_generating', session().runRequested().paused()],
    ['paused_executing', IDLE_BATCH.paused()],
  ] as const)('%s: at once', (phase, of) => {
    expect(of.phase()).toBe(phase);
    const over = of.interrupted('enough');
    expect(over.phase()).toBe('idle');
    expect(over.ending()).toEqual({ outcome: 'interrupted', code: null, message: 'enough', output: null });
    expect(over.effects()).toEqual([]);
  });

  test.each([['executing', busy()] as const, ['paused_executing', busy().paused()] as const])(
    '%s with running calls: once they have settled',
    (_, of) => {
      const ending = of.interrupted();
      expect(ending.phase()).toBe('interrupting');
      expect(statuses(ending)).toEqual(['running', 'running', 'cancelled', 'cancelled', 'cancelled']);
      // Only calls with `interrupt_behavior: cancel` are asked to stop.
      expect(owed(ending)).toEqual(['tool.cancel stop']);
      const over = ending.settled('stop', { outcome: 'cancelled' }).settled('block');
      expect(over.ending()).toMatchObject({ outcome: 'interrupted' });
      expect(over.transcript().slice(-5)).toEqual([
        'tool block output of block',
        'tool! stop output of stop',
        expect.stringMatching(/^tool! queued error: cancelled: /),
        expect.stringMatching(/^tool! waits error: cancelled: /),
        expect.stringMatching(/^tool! hand error: cancelled: /),
      ]);
    },
  );

  test('a waiting follow-up run starts', () => {
    expect(busy().followUp('next').interrupted().settled('stop').settled('block').state.run?.run_id).toBe('run-2');
  });
});

describe('with input the run continues', () => {
  test.each([
    ['generating', session().runRequested(), 2],
    ['paused_generating', session().runRequested().paused(), 2],
    ['executing', IDLE_BATCH, 2],
    ['paused_executing', IDLE_BATCH.paused(), 2],
  ] as const)('%s: with the next generate, at once and unpaused', (_, of, turn) => {
    const on = redirected(of);
    expect(on.runId()).toBe('run-1');
    expect(on.phase()).toBe('generating');
    expect(on.state.run).toMatchObject({ turn, ending: null });
    expect(on.state.run).not.toHaveProperty('redirect');
    expect(on.transcript().at(-1)).toBe('user rather this');
    expect(owed(on)).toEqual(['llm.generate']);
    expect(on.state.run_history).toEqual([]);
  });

  test.each([
    ['opening', session().runRequested({ host_session_open: true })],
    ['paused_opening', session().runRequested({ host_session_open: true }).paused()],
  ] as const)('%s: it still waits for its host session, and begins with both', (_, of) => {
    const on = redirected(of);
    expect(on.phase()).toBe('opening');
    const ready = on.hostReady();
    expect(ready.state.run).toMatchObject({ phase: 'generating', turn: 1 });
    expect(ready.transcript()).toEqual(['user go', 'user rather this']);
  });

  test('after its running calls have settled, with their results before the input', () => {
    const ending = redirected(busy());
    expect(ending.phase()).toBe('interrupting');
    expect(owed(ending)).toEqual(['tool.cancel stop']);
    const on = ending.settled('block').settled('stop', { outcome: 'cancelled' });
    expect(on.phase()).toBe('generating');
    expect(on.state.active_tool_batch).toBeNull();
    expect(on.transcript().slice(2)).toEqual([
      'tool block output of block',
      'tool! stop output of stop',
      expect.stringMatching(/^tool! queued /),
      expect.stringMatching(/^tool! waits /),
      expect.stringMatching(/^tool! hand /),
      'user rather this',
    ]);
  });

  test('after a lost call too', () => {
    const on = redirected(calling(session(), call('o', 'once')).started('o')).leaseExpired('o');
    expect(on.phase()).toBe('generating');
    expect(on.transcript().slice(-2)).toEqual([
      expect.stringMatching(/^tool! o error: outcome_unknown/),
      'user rather this',
    ]);
  });

  test('with earlier steers before the input', () => {
    const on = redirected(session().runRequested().steered('left'), 'right');
    expect(on.transcript()).toEqual(['user go', 'user left', 'user right']);
    expect(on.state.run?.steers).toEqual([]);
    const opening = redirected(
      session().runRequested({ host_session_open: true }).steered('left'),
      'right',
    ).hostReady();
    expect(opening.transcript()).toEqual(['user go', 'user left', 'user right']);
  });

  test('and refuses an answer to the abandoned generate', () => {
    const before = session().runRequested();
    const on = redirected(before);
    expect(on.refusal('ToolCallsObserved', { ...before.turnFields(), calls: [] }).code).toBe('wrong_turn');
    expect(on.refusal('GenerateFailed', { ...before.turnFields(), code: 'x', message: '' }).code).toBe('wrong_turn');
    expect(on.answered('this').ending()).toMatchObject({ outcome: 'completed' });
  });

  test('without waiting for a pending retry', () => {
    const failed = session()
      .runRequested({ retry: { attempts_max: 3, base_ms: 1_000, cap_ms: 1_000 } })
      .takes('GenerateFailed', { run_id: 'run-1', turn: 1, code: 'busy', message: '', retryable: true });
    expect(owed(failed)).toEqual(['wake']);
    expect(owed(redirected(failed))).toEqual(['llm.generate']);
  });

  test('but ends when its turns are used up, with the input in the transcript', () => {
    const over = redirected(session().runRequested({ turns_max: 1 }));
    expect(over.ending()).toMatchObject({ outcome: 'failed', code: 'turns_exceeded' });
    expect(over.transcript().at(-1)).toBe('user rather this');
  });
});

describe('while it is interrupting', () => {
  const ending = redirected(busy());

  test('further interrupts, steers, confirmations, answers and starts are refused', () => {
    expect(ending.refusal('user.interrupt', { run_id: 'run-1' }).code).toBe('wrong_phase');
    expect(ending.refusal('RunSteered', { run_id: 'run-1', input: { text: 'x' } }).code).toBe('wrong_phase');
    expect(ending.refusal('ToolCallStarted', { ...ending.callFields('queued'), owner: 'b' }).code).toBe('wrong_phase');
    expect(ending.refusal('user.tool_confirmation', { ...ending.answerFields('waits'), result: 'allow' }).code).toBe(
      'wrong_phase',
    );
  });

  test('a cancel or a failure ends the run and drops the input', () => {
    for (const stopping of [ending.cancelled(), ending.failed()]) {
      expect(stopping.phase()).toBe('cancelling');
      expect(owed(stopping)).toEqual(['tool.cancel block', 'tool.cancel stop']);
      const over = stopping.settled('block').settled('stop');
      expect(over.phase()).toBe('idle');
      expect(over.transcript()).not.toContain('user rather this');
    }
  });

  test('a temporary failure is not retried', () => {
    const retry = { attempts_max: 3, base_ms: 1_000, cap_ms: 1_000 };
    const run = calling(asking({}, { retry }), call('f', 'free')).started('f').interrupted();
    const over = run.takes('ToolCallSettled', {
      ...run.settlementFields('f', { success: false, output: 'busy' }),
      retryable: true,
    });
    expect(over.ending()).toMatchObject({ outcome: 'interrupted' });
    expect(over.transcript().at(-1)).toBe('tool! f busy');
  });
});
