// The batch: planned, settled in any order, closed once (docs/design.md, "The batch" and laws 4 and 5).
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CALLS_PER_BATCH_MAX } from '../../schemas/limits.ts';
import type { IngressEvent } from '../../schemas/index.ts';
import { stateDigest, step } from '../../src/core/index.ts';
import { permutations, roundsOf } from '../support/random.ts';
import { type Session, call, rejectionOf, session, textOf } from '../support/session.ts';

const open = (...calls: Parameters<typeof call>[]): Session =>
  session()
    .runRequested()
    .observed(calls.map((made) => call(...made)));

describe('reports on calls', () => {
  const two = open(['a', 'once'], ['b', 'read', { path: 'x' }]);

  test('a second settlement is refused as already settled', () => {
    expect(two.settled('a').refusal('ToolCallSettled', two.settlementFields('a', { output: 'other' }))).toMatchObject({
      code: 'call_already_settled',
    });
  });

  test('a settlement for another batch, without a batch, or of an unknown call is refused', () => {
    const fields = two.settlementFields('a');
    expect(two.refusal('ToolCallSettled', { ...fields, batch_id: 'batch-9' })).toMatchObject({
      code: 'wrong_batch',
      path: '/batch_id',
    });
    expect(session().refusal('ToolCallSettled', fields)).toMatchObject({ code: 'batch_not_active' });
    expect(session().runRequested().refusal('ToolCallSettled', fields)).toMatchObject({ code: 'batch_not_active' });
    expect(two.refusal('ToolCallSettled', { ...fields, call_id: 'z' })).toMatchObject({
      code: 'unknown_call',
      path: '/call_id',
    });
  });

  test('a settlement under another plan is refused', () => {
    expect(
      two.refusal('ToolCallSettled', { ...two.settlementFields('a'), plan_hash: `sha256:${'1'.repeat(64)}` }),
    ).toMatchObject({ code: 'plan_mismatch' });
    expect(
      two.refusal('ToolBatchSettled', { ...two.batchFields(), plan_hash: `sha256:${'1'.repeat(64)}` }),
    ).toMatchObject({ code: 'plan_mismatch' });
  });

  test('a settlement of an earlier attempt is refused', () => {
    const again = open(['r', 'read', { path: 'x' }])
      .started('r')
      .leaseExpired('r');
    expect(again.callState('r')).toMatchObject({ status: 'queued', attempt: 2, owner: null });
    expect(again.refusal('ToolCallSettled', again.settlementFields('r', { attempt: 1 }))).toMatchObject({
      code: 'stale_attempt',
      path: '/attempt',
    });
    expect(again.settled('r').callState('r')).toMatchObject({ status: 'succeeded' });
  });

  test.each([
    ['succeeded', false],
    ['failed', true],
    ['cancelled', true],
    ['unknown', true],
  ] as const)('outcome %s with success %s is refused as inconsistent', (outcome, success) => {
    expect(
      two.refusal('ToolCallSettled', { ...two.settlementFields('a'), outcome, result: { success } }),
    ).toMatchObject({ code: 'inconsistent_result' });
  });

  test('a call starts once, and only after the calls it waits for have settled', () => {
    const chain = open(['w', 'write', { path: 'x' }], ['r', 'read', { path: 'x' }]);
    expect(chain.refusal('ToolCallStarted', { ...chain.callFields('r'), owner: 'b' })).toMatchObject({
      code: 'call_not_ready',
    });
    const started = chain.started('w');
    expect(started.refusal('ToolCallStarted', { ...chain.callFields('w'), owner: 'b' })).toMatchObject({
      code: 'call_not_queued',
    });
    expect(started.settled('w').refusal('ToolCallStarted', { ...chain.callFields('w'), owner: 'b' })).toMatchObject({
      code: 'call_already_settled',
    });
    expect(started.settled('w').started('r').callState('r')).toMatchObject({ status: 'running', owner: 'bridge-1' });
  });

  test('an effect names the calls it still waits for, without the settled ones', () => {
    const join = open(['a', 'write', { path: 'x' }], ['b', 'write', { path: 'y' }], ['c', 'read', {}]);
    const waitsOf = (of: Session): unknown =>
      of.effectsOf('tool.call').map(({ call_id, after }) => [call_id, ...after].join(' '));
    expect(waitsOf(join)).toEqual(['a', 'b', 'c a b']);
    expect(waitsOf(join.settled('b'))).toEqual(['a', 'c a']);
    expect(waitsOf(join.settled('b').started('a'))).toEqual(['a', 'c a']);
    expect(waitsOf(join.settled('b').settled('a', { success: false }))).toEqual(['c']);
    expect(join.settled('b').plan().execution_plan.after).toEqual({ a: [], b: [], c: ['a', 'b'] });
  });

  test('the batch is not settled before every call has settled', () => {
    expect(two.settled('a').refusal('ToolBatchSettled', two.batchFields())).toMatchObject({
      code: 'batch_not_settled',
    });
    const over = two.settled('a').settled('b').batchSettled();
    expect(over.refusal('ToolBatchSettled', two.batchFields())).toMatchObject({ code: 'batch_not_active' });
  });

  test('a second batch is refused while one is open', () => {
    expect(two.refusal('ToolCallsObserved', { ...two.turnFields(), calls: [] })).toMatchObject({ code: 'batch_open' });
  });

  test('a late answer to an earlier turn is refused by its turn', () => {
    const later = two.settled('a').settled('b').batchSettled();
    expect(later.refusal('ToolCallsObserved', { run_id: 'run-1', turn: 1, calls: [] })).toMatchObject({
      code: 'wrong_turn',
      path: '/turn',
    });
    expect(later.refusal('ToolCallsObserved', { run_id: 'run-2', turn: 2, calls: [] })).toMatchObject({
      code: 'wrong_run',
      path: '/run_id',
    });
  });
});

describe('when a bridge is lost', () => {
  test('the outcome of a call that must not repeat is unknown, and the model reads that', () => {
    const lost = open(['o', 'once']).started('o').leaseExpired('o');
    expect(lost.callState('o')).toMatchObject({ status: 'unknown', code: 'outcome_unknown' });
    expect(lost.batchSettled().transcript().at(-1)).toMatch(/^tool! o error: outcome_unknown: /);
  });

  test('a call that had not started is still owed', () => {
    const queued = open(['o', 'once']);
    const { batch_id, attempt } = queued.callFields('o');
    expect(queued.refusal('LeaseExpired', { batch_id, call_id: 'o', attempt })).toMatchObject({ code: 'wrong_phase' });
  });
});

describe('pairing', () => {
  const OUTCOMES = ['succeeded', 'failed', 'cancelled', 'unknown', 'rejected', 'duplicate'] as const;

  test('every call gets exactly one result, in call order, for every mixture of outcomes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...OUTCOMES), { minLength: 1, maxLength: 12 }),
        fc.nat(),
        (mixture, seed) => {
          const calls = mixture.map((outcome, index) =>
            outcome === 'duplicate' && index > 0
              ? call('c0', 'free', { index })
              : call(`c${index}`, outcome === 'rejected' ? 'no_such_tool' : 'free', { index }),
          );
          let batch = session().runRequested({ repeats_max: 100 }).observed(calls);
          const owed = batch.effectsOf('tool.call').map((effect) => effect.call_id as string);
          // The seed chooses the order of settlement.
          for (const id of owed.toSorted((a, b) => ((seed ^ a.length) % 3) - ((seed ^ b.length) % 2))) {
            const outcome = mixture[Number(id.slice(1))];
            const settled =
              outcome === 'failed' || outcome === 'cancelled' || outcome === 'unknown' ? outcome : 'succeeded';
            batch = batch.settled(id, { outcome: settled });
          }
          const { transcript } = batch.batchSettled().state;
          const asked =
            transcript.open.findLast((entry) => entry.role === 'assistant')?.calls?.map((made) => made.call_id) ?? [];
          const results = transcript.open.filter((entry) => entry.role === 'tool');
          expect(results.map((entry) => entry.call_id)).toEqual(asked);
          expect(new Set(asked).size).toBe(calls.length);
          expect(results.every((entry) => entry.content !== undefined)).toBe(true);
        },
      ),
      { numRuns: roundsOf(150, 3_000) },
    );
  });

  test('the rejections of a batch without accepted calls still go to the model', () => {
    const none = open(['a', 'nope'], ['b', 'spare']);
    expect(none.rejections()).toEqual({ 0: 'tool_unknown', 1: 'tool_not_offered' });
    expect(none.effects().map((effect) => effect.kind)).toEqual(['batch.settle']);
    const next = none.batchSettled();
    expect(next.transcript().slice(-2)).toEqual([
      expect.stringMatching(/^tool! a error: tool_unknown: .*Available tools: /),
      expect.stringMatching(/^tool! b error: tool_not_offered: /),
    ]);
    expect(next.effectsOf('llm.generate')[0]?.turn).toBe(2);
  });
});

describe('the outcome of a call', () => {
  const two = open(['a', 'write', { path: 'x' }], ['b', 'read', { path: 'x' }], ['c', 'write', { path: 'x' }]);

  test.each(['succeeded', 'failed'] as const)('that ran before one it must wait for is refused: %s', (outcome) => {
    for (const before of [two, two.started('a')]) {
      for (const id of ['b', 'c']) {
        const refusal = before.refusal('ToolCallSettled', before.settlementFields(id, { outcome }));
        expect(refusal).toMatchObject({ code: 'call_not_ready', path: '/call_id' });
      }
    }
    expect(two.refusal('ToolCallSettled', two.settlementFields('b')).message).toContain('"a"');
    expect(two.settled('a').settled('b', { outcome }).callState('b')?.status).toBe(outcome);
  });

  test.each(['cancelled', 'unknown'] as const)('that need not have run is taken at any time: %s', (outcome) => {
    const skipped = two.settled('b', { outcome });
    expect(skipped.callState('b')?.status).toBe(outcome);
    // It did not wait, so a call that waits for it waits for the calls before it, too.
    expect(skipped.effectsOf('tool.call').find(({ call_id }) => call_id === 'c')?.after).toEqual(['a']);
    expect(skipped.refusal('ToolCallSettled', skipped.settlementFields('c'))).toMatchObject({ code: 'call_not_ready' });
    expect(skipped.refusal('ToolCallStarted', { ...skipped.callFields('c'), owner: 'x' })).toMatchObject({
      code: 'call_not_ready',
    });
  });

  test('waits for a call that a person may still deny', () => {
    const asked = open(['q', 'asks'], ['x', 'barrier'], ['r', 'read', { path: 'x' }]);
    const [q, x] = [asked.callState('q')?.status, asked.refusal('ToolCallSettled', asked.settlementFields('r'))];
    expect([q, x.code]).toEqual(['waiting', 'call_not_ready']);
    const denied = asked.denied('q').settled('x');
    expect(denied.settled('r').callState('r')?.status).toBe('succeeded');
  });

  test('that is not read-only is refused before its start, repeatable or not', () => {
    const calls = open(['f', 'free'], ['o', 'once'], ['r', 'read', { path: 'x' }]);
    for (const id of ['f', 'o']) {
      for (const outcome of ['succeeded', 'failed'] as const) {
        const refusal = calls.refusal('ToolCallSettled', calls.settlementFields(id, { outcome }));
        expect(refusal).toMatchObject({ code: 'call_not_started', path: '/call_id' });
      }
      for (const outcome of ['cancelled', 'unknown'] as const) {
        expect(calls.takes('ToolCallSettled', calls.settlementFields(id, { outcome })).callState(id)?.status).toBe(
          outcome,
        );
      }
    }
    expect(calls.takes('ToolCallSettled', calls.settlementFields('r')).callState('r')?.status).toBe('succeeded');
    expect(calls.plan().planned_calls.map(({ read_only, repeatable }) => [read_only, repeatable])).toEqual([
      [false, true],
      [false, false],
      [true, true],
    ]);
  });

  test('that was started and lost runs again as the next attempt, which is started anew', () => {
    const lost = open(['f', 'free']).started('f').leaseExpired('f');
    expect(lost.callState('f')).toMatchObject({ status: 'queued', attempt: 2 });
    expect(lost.refusal('ToolCallSettled', lost.settlementFields('f'))).toMatchObject({ code: 'call_not_started' });
    expect(lost.started('f').settled('f').callState('f')?.status).toBe('succeeded');
  });
});

describe('order of settlement', () => {
  const PLANS: readonly (readonly Parameters<typeof call>[])[] = [
    [
      ['a', 'free'],
      ['b', 'once'],
      ['c', 'read', { path: 'x' }],
    ],
    [
      ['a', 'write', { path: 'x' }],
      ['b', 'write', { path: 'y' }],
      ['c', 'read', { path: 'x' }],
      ['d', 'nope'],
    ],
    [
      ['a', 'free'],
      ['b', 'barrier'],
      ['c', 'once'],
      ['d', 'keyed'],
      ['e', 'read', { path: '.' }],
    ],
  ];

  test.each(PLANS.map((plan, index) => [index, plan] as const))(
    'every order of settlements, with repeats, of plan %i ends in byte-identical state',
    (_, plan) => {
      const opened = open(...plan);
      const reports = opened.effectsOf('tool.call').map(({ call_id, read_only }, index) => {
        const fields = opened.settlementFields(call_id, index % 2 === 0 ? {} : { success: false, code: 'no_luck' });
        const start = opened.next('ToolCallStarted', { ...opened.callFields(call_id), owner: 'b' });
        const settlement = opened.next('ToolCallSettled', fields);
        return (read_only ? [settlement] : [start, settlement]).map(
          (event) => ({ ...event, event_id: `${event.kind}-${index}`, at_ms: 9_000 }) as IngressEvent,
        );
      });
      const ends = permutations(reports).map((order) => {
        let { state } = opened;
        // A bridge keeps a report on a call that ran too early, and sends it again.
        for (let kept = order.flat(); kept.length > 0;) {
          kept = kept.filter((event) => {
            const stepped = step(state, event);
            if (stepped._tag === 'Left') expect(stepped.left.code).toMatch(/^call_not_(ready|started)$/);
            else ({ state } = stepped.right);
            return stepped._tag === 'Left';
          });
        }
        const again = order.flat().filter(({ kind }) => kind === 'ToolCallSettled');
        for (const event of again) expect(rejectionOf(state, event).code).toBe('call_already_settled');
        return textOf(state);
      });
      expect(new Set(ends).size).toBe(1);
    },
  );
});

test('a batch may hold CALLS_PER_BATCH_MAX calls; one more is refused as invalid_shape', () => {
  const calls = Array.from({ length: CALLS_PER_BATCH_MAX + 1 }, (_, index) => call(`c${index}`, 'free'));
  const run = session().runRequested({ calls_max: 1_000_000, repeats_max: 1_000 });
  expect(run.refusal('ToolCallsObserved', { ...run.turnFields(), calls })).toMatchObject({
    code: 'invalid_shape',
    path: '/calls',
  });
  const full = run.observed(calls.slice(1).map((made, index) => ({ ...made, arguments: { index } })));
  expect(full.effectsOf('tool.call')).toHaveLength(CALLS_PER_BATCH_MAX);
  const one = full.settled('c500');
  expect(one.callState('c500')?.status).toBe('succeeded');
  expect(stateDigest(one.state)).not.toBe(stateDigest(full.state));
});
