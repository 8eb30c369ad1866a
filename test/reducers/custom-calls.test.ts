// Calls that a person or an application fulfils (openboa, "Custom tools").
import { describe, expect, test } from 'vitest';
import { sessionStatus } from '../../src/core/index.ts';
import { PERSON_LOOKS, TIMED_ELSEWHERE, TIMED_PERSON, asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';

describe('a custom call', () => {
  const run = calling(asking(), call('p', 'person', { n: 1 }), call('p2', 'person', { n: 2 }), call('f', 'free'));

  test('is owed to a person and not to a bridge; several may be owed at once', () => {
    expect(owed(run)).toEqual(['agent.custom_tool_use p', 'agent.custom_tool_use p2', 'tool.call f']);
    expect(sessionStatus(run.state).blocking_event_ids).toEqual(['batch-1/p/fulfil', 'batch-1/p2/fulfil']);
    expect(run.effectsOf('agent.custom_tool_use')[0]).toMatchObject({ arguments: { n: 1 }, tool_name: 'person' });
  });

  test('can be answered in any order, with success or failure', () => {
    const answered = run.fulfilled('p2').fulfilled('p', { result: { success: false, error: 'no' } });
    expect(answered.callState('p')).toMatchObject({ status: 'failed', code: 'tool_failed' });
    expect(answered.settled('f').batchSettled().transcript().slice(-3)).toEqual([
      'tool! p answer to p',
      'tool p2 answer to p2',
      'tool f output of f',
    ]);
  });

  test('is answered once, with its digest, in its batch; a call of a bridge cannot be answered', () => {
    const answer = { ...run.answerFields('p'), result: { success: true }, output: { text: 'x' } };
    const refusal = (of: Session, rest: object = {}): string =>
      of.refusal('user.custom_tool_result', { ...answer, ...rest }).code;
    expect(refusal(run.fulfilled('p'))).toBe('call_already_settled');
    expect(refusal(run, { arguments_digest: run.answerFields('p2').arguments_digest })).toBe('arguments_mismatch');
    expect(refusal(run, { batch_id: 'batch-7' })).toBe('wrong_batch');
    expect(refusal(run, { call_id: 'no_such_call' })).toBe('unknown_call');
    expect(refusal(run, run.answerFields('f'))).toBe('not_answerable');
    expect(refusal(run.started('f'), run.answerFields('f'))).toBe('not_answerable');
    expect(refusal(run.interrupted())).toBe('batch_not_active');
    expect(refusal(run.started('f').interrupted())).toBe('wrong_phase');
  });

  test('is refused as not confirmable', () => {
    expect(run.refusal('user.tool_confirmation', { ...run.answerFields('p'), result: 'allow' }).code).toBe(
      'not_confirmable',
    );
  });

  test('a bridge cannot settle, start or lose it', () => {
    expect(run.refusal('ToolCallSettled', run.settlementFields('p')).code).toBe('waits_for_person');
    expect(run.refusal('ToolCallStarted', { ...run.callFields('p'), owner: 'b' }).code).toBe('waits_for_person');
  });

  test('its result can end the run', () => {
    const done = calling(asking(), call('p', 'person')).fulfilled('p', { result: { success: true, terminal: true } });
    expect(done.batchSettled().ending()).toMatchObject({ outcome: 'completed' });
    const failed = calling(asking({}, { completion: 'steerable' }), call('p', 'person')).fulfilled('p', {
      result: { success: false },
    });
    expect(failed.batchSettled().ending()).toMatchObject({ outcome: 'failed', code: 'terminal_result' });
  });

  test('when it asks first, it is confirmed and then fulfilled', () => {
    const both = calling(asking(), call('ap', 'asks_person'));
    expect(owed(both)).toEqual(['agent.tool_use ap']);
    const answer = { ...both.answerFields('ap'), result: { success: true }, output: { text: 'x' } };
    expect(both.refusal('user.custom_tool_result', answer).code).toBe('waits_for_person');
    const allowed = both.allowed('ap');
    expect(owed(allowed)).toEqual(['agent.custom_tool_use ap']);
    expect(statuses(allowed.fulfilled('ap'))).toEqual(['succeeded']);
  });

  test('identical read-only calls share one answer', () => {
    const looks = calling(
      asking({}, { share_reads: true }),
      call('l1', 'person_looks', { at: 1 }),
      call('l2', 'person_looks', { at: 1 }),
    );
    expect(owed(looks)).toEqual(['agent.custom_tool_use l1']);
    const second = { ...looks.answerFields('l2'), result: { success: true }, output: { text: 'x' } };
    expect(looks.refusal('user.custom_tool_result', second).code).toBe('shares_result');
    expect(looks.fulfilled('l1').batchSettled().transcript().slice(-2)).toEqual([
      'tool l1 answer to l1',
      'tool l2 answer to l1',
    ]);
  });
});

describe('the time to fulfil it', () => {
  const WITHIN = TIMED_PERSON.answer_within_ms as number;
  const chain = calling(
    asking(),
    call('w', 'asks_write', { path: 'a' }),
    call('t', 'timed_person', { path: 'a' }),
    call('u', 'timed_person', { path: 'b' }),
  );

  test('begins when the calls it waits for have settled', () => {
    const now = chain.state.updated_at_ms;
    expect(chain.callState('u')?.due_at_ms).toBe(now + WITHIN);
    expect(chain.callState('t')).not.toHaveProperty('due_at_ms');
    expect(owed(chain)).toEqual(['agent.tool_use w', 'agent.custom_tool_use u', 'wake']);
    const allowed = chain.allowed('w');
    expect(allowed.callState('t')).not.toHaveProperty('due_at_ms');
    const ready = allowed.settled('w');
    expect(ready.callState('t')?.due_at_ms).toBe(ready.state.updated_at_ms + WITHIN);
    expect(ready.state.active_tool_batch?.timed).toEqual(['u', 't']);
    expect(ready.effectsOf('agent.custom_tool_use').map((effect) => effect.due_at_ms)).toEqual([
      ready.state.updated_at_ms + WITHIN,
      now + WITHIN,
    ]);
  });

  test('begins when a person has allowed the call', () => {
    const asks = { ...TIMED_PERSON, permission_policy: 'always_ask' as const };
    const run = calling(asking({ approval_ttl_ms: 5_000 }, {}, [asks]), call('t', 'timed_person', { path: 'a' }));
    expect(run.callState('t')?.due_at_ms).toBe(run.state.updated_at_ms + 5_000);
    const allowed = run.allowed('t');
    expect(allowed.callState('t')?.due_at_ms).toBe(allowed.state.updated_at_ms + WITHIN);
    expect(allowed.state.active_tool_batch?.timed).toEqual(['t']);
  });

  test('begins when a denial has unblocked the call', () => {
    const denied = chain.denied('w');
    expect(denied.callState('t')?.due_at_ms).toBe(denied.state.updated_at_ms + WITHIN);
  });

  test('expires once for calls that share an answer, and each of them fails', () => {
    const looks = { ...PERSON_LOOKS, answer_within_ms: WITHIN };
    const run = calling(
      asking({}, { share_reads: true }, [looks]),
      ...['l1', 'l2', 'l3'].map((id) => call(id, 'person_looks', { at: 1 })),
    );
    const due = run.state.updated_at_ms + WITHIN;
    expect(run.state.active_tool_batch?.timed).toEqual(['l1', 'l2', 'l3']);
    const late = run.takes('TimeReached', { due_at_ms: due });
    expect(statuses(late)).toEqual(['failed', 'failed', 'failed']);
    expect(late.state.active_tool_batch).not.toHaveProperty('timed');
    expect(owed(late.batchSettled())).toEqual(['llm.generate']);
  });

  test('when it expires the call fails, dependent calls continue, and a late answer is refused', () => {
    const run = calling(asking(), call('t', 'timed_person', { path: 'a' }), call('r', 'read', { path: 'a' }));
    const due = run.callState('t')?.due_at_ms as number;
    const late = run.takes('TimeReached', { due_at_ms: due });
    expect(late.callState('t')).toMatchObject({ status: 'failed', code: 'tool_timeout', terminal: false });
    expect(owed(late)).toEqual(['tool.call r']);
    const answer = { ...run.answerFields('t'), result: { success: true }, output: { text: 'x' } };
    expect(late.refusal('user.custom_tool_result', answer).code).toBe('call_already_settled');
    expect(late.settled('r').batchSettled().transcript().at(-2)).toMatch(/^tool! t error: tool_timeout: /);
  });

  test('an answer ends the wait, and is refused before the call is ready', () => {
    const early = { ...chain.answerFields('t'), result: { success: true }, output: { text: 'x' } };
    expect(chain.refusal('user.custom_tool_result', early)).toMatchObject({ code: 'call_not_ready', path: '/call_id' });
    expect(chain.fulfilled('u').effectsOf('wake')).toEqual([]);
  });

  test.each(TIMED_ELSEWHERE.map((spec) => [spec.executor.kind, spec.tool_name, spec] as const))(
    'is none for a call that %s runs (%s): such a tool on record has its calls end by their reports',
    (_, name, spec) => {
      const run = calling(asking({}, {}, [spec]), call('c', name));
      expect(run.state.active_tool_batch?.plan.planned_calls[0]).not.toHaveProperty('answer_within_ms');
      expect(run.callState('c')).not.toHaveProperty('due_at_ms');
      const ending = run.started('c').takes('RunCancelled', { run_id: run.runId() });
      expect(owed(ending)).toEqual(['tool.cancel c']);
      expect(ending.refusal('TimeReached', { due_at_ms: ending.state.updated_at_ms + WITHIN }).code).toBe(
        'time_not_due',
      );
      const over = ending.settled('c', { outcome: 'cancelled' });
      expect(over.state.run_history.at(-1)?.ending.outcome).toBe('cancelled');
    },
  );

  test('two calls and a question with the same time expire in one event', () => {
    const run = calling(
      asking({ approval_ttl_ms: WITHIN }),
      call('t', 'timed_person', { path: 'a' }),
      call('u', 'timed_person', { path: 'b' }),
      call('q', 'asks'),
    );
    const due = run.effectsOf('wake')[0]?.at_ms as number;
    expect(statuses(run.takes('TimeReached', { due_at_ms: due }))).toEqual(['failed', 'failed', 'denied']);
  });
});

describe('the shape of an answer', () => {
  const run = calling(asking(), call('t', 'timed_person', { path: 'a' }));
  const misfit = { valid: false, path: '/ok', message: 'must be boolean' };

  test('is part of the effect', () => {
    expect(run.effectsOf('agent.custom_tool_use')[0]?.output_schema).toEqual(TIMED_PERSON.output_schema);
  });

  test('an answer that does not fit is refused and can be given again', () => {
    const answer = { ...run.answerFields('t'), result: { success: true, data: { ok: 7 } }, output: { text: 'x' } };
    expect(run.refusal('user.custom_tool_result', { ...answer, output_verdict: misfit })).toEqual({
      code: 'result_invalid',
      path: '/result/data/ok',
      message: 'must be boolean',
    });
    expect(statuses(run.fulfilled('t', { result: { success: true, data: { ok: true } } }))).toEqual(['succeeded']);
  });
});
