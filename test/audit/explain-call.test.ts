// The explanation of a call: its group, the calls it waited for, the bridge that ran it, its settlement.
import { describe, expect, test } from 'vitest';
import { type CallId, brand } from '../../schemas/index.ts';
import { type CallExplanation, conflictBetween, explainCall, planBatch } from '../../src/core/index.ts';
import { batchTools, randomBatch } from '../support/batches.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { INVALID, type Session, call, session } from '../support/session.ts';
import { recordsOf } from './records.ts';

const explained = (story: Session, id: string): readonly CallExplanation[] =>
  explainCall(recordsOf(story), brand<'CallId'>(id));

function only(story: Session, id: string): CallExplanation {
  const found = explained(story, id);
  expect(found).toHaveLength(1);
  return found[0] as CallExplanation;
}

const started = session().runRequested();

describe('a call that ran', () => {
  const story = started
    .observed([call('w', 'write', { path: 'dir' }), call('r', 'read', { path: 'dir/x' }), call('b', 'barrier')])
    .started('w', 'bridge-7')
    .settled('w')
    .settled('r', { success: false, code: 'not_found' });

  test('is explained with its run, turn, batch, tool and claims', () => {
    expect(only(story, 'w')).toMatchObject({
      index: 0,
      run_id: 'run-1',
      turn: 1,
      batch_id: 'batch-1',
      plan_hash: story.plan().plan_hash,
      observed: { position: 1, at_ms: 2_000 },
      tool: { tool_id: 'write', effective: true, reasons: ['in_profile'], offered: true },
      rejected: null,
      planned: { group: 0, groups: 3, claims: [{ key: 'fs/dir', access: 'write' }], waited_for: [] },
    });
  });

  test('is explained with its start and its settlement', () => {
    expect(only(story, 'w')).toMatchObject({
      starts: [{ position: 2, owner: 'bridge-7', attempt: 1 }],
      settled: { position: 3, status: 'succeeded', code: null, attempt: 1, by: 'ToolCallSettled' },
      status: 'succeeded',
      answered: null,
    });
    expect(only(story, 'r')).toMatchObject({ starts: [], settled: { status: 'failed', code: 'not_found' } });
  });

  test('is explained with the calls it waited for, and the two claims that overlap', () => {
    expect(only(story, 'r').planned?.waited_for).toEqual([
      {
        call_id: 'w',
        tool_name: 'write',
        group: 0,
        conflict: {
          kind: 'claims',
          earlier: { key: 'fs/dir', access: 'write' },
          later: { key: 'fs/dir/x', access: 'read' },
        },
        settled: { position: 3, at_ms: 4_000 },
      },
    ]);
  });

  test('names the call that is not parallel-safe as the reason for its wait', () => {
    const [wait] = only(story, 'b').planned?.waited_for ?? [];
    expect(wait).toMatchObject({ call_id: 'r', conflict: { kind: 'runs_alone', earlier: false, later: true } });
  });

  test('is answered when its batch is', () => {
    const done = story.settled('b').batchSettled();
    expect(only(done, 'w').answered).toEqual({ position: 7, at_ms: 8_000 });
  });

  test('is not settled yet while it runs', () => {
    const running = started.observed([call('o', 'once')]).started('o');
    expect(only(running, 'o')).toMatchObject({ status: 'running', settled: null, answered: null });
  });
});

describe('a call that was rejected', () => {
  test.each([
    ['an unknown tool', call('x', 'nowhere'), 'tool_unknown', null],
    ['a tool that is out', call('x', 'spare'), 'tool_not_offered', { effective: false, reasons: ['not_in_profile'] }],
    [
      'a tool whose host is missing',
      call('x', 'hosted'),
      'tool_unavailable',
      { reasons: ['in_profile', 'host_session_not_ready'] },
    ],
    ['bad arguments', call('x', 'read', {}, { arguments_verdict: INVALID }), 'tool_invalid_args', { effective: true }],
  ])('for %s is explained with code, message and the reasons of its tool', (_, made, code, tool) => {
    const found = only(started.observed([made, call('ok', 'read', { path: 'x' })]), 'x');
    expect(found).toMatchObject({
      rejected: { code, message: expect.any(String) },
      planned: null,
      status: 'rejected',
      settled: { position: 1, status: 'rejected', code },
    });
    if (tool === null) expect(found.tool).toBeNull();
    else expect(found.tool).toMatchObject(tool);
  });

  test('for a duplicate id is explained together with the call that has the id', () => {
    const [first, second] = explained(started.observed([call('x', 'read', { path: 'a' }), call('x', 'free')]), 'x');
    expect(first).toMatchObject({ index: 0, rejected: null, status: 'queued' });
    expect(second).toMatchObject({ index: 1, rejected: { code: 'duplicate_call_id' } });
  });

  test('together with its whole turn has no batch', () => {
    const over = session()
      .runRequested({ calls_max: 1 })
      .observed([call('x', 'read'), call('y', 'read')]);
    expect(only(over, 'x')).toMatchObject({
      batch_id: null,
      plan_hash: null,
      rejected: { code: 'calls_exceeded' },
      answered: { position: 1 },
    });
  });
});

describe('a call that lost its bridge', () => {
  test('and may run twice is started again', () => {
    const story = started
      .observed([call('f', 'free')])
      .started('f', 'bridge-1')
      .leaseExpired('f')
      .started('f', 'bridge-2')
      .settled('f');
    expect(only(story, 'f')).toMatchObject({
      starts: [
        { position: 2, owner: 'bridge-1', attempt: 1 },
        { position: 4, owner: 'bridge-2', attempt: 2 },
      ],
      losses: [{ position: 3, attempt: 1 }],
      settled: { position: 5, attempt: 2, status: 'succeeded' },
    });
  });

  test('and must not run twice has an unknown outcome', () => {
    const story = started
      .observed([call('o', 'once')])
      .started('o')
      .leaseExpired('o');
    expect(only(story, 'o')).toMatchObject({
      losses: [],
      settled: { status: 'unknown', code: 'outcome_unknown', by: 'LeaseExpired' },
    });
  });
});

describe('a call of a run that was ended', () => {
  const two = started.observed([call('o', 'once'), call('b', 'barrier')]);

  test('before it started is cancelled with the run', () => {
    expect(only(two.interrupted(), 'b')).toMatchObject({
      settled: { position: 2, status: 'cancelled', code: 'cancelled', by: 'user.interrupt' },
      answered: { position: 2 },
    });
  });

  test('while it ran is settled by its own report, which closes the batch', () => {
    const story = two.started('o').cancelled().settled('o', { outcome: 'cancelled' });
    expect(only(story, 'o')).toMatchObject({
      settled: { position: 4, status: 'cancelled', by: 'ToolCallSettled' },
      answered: { position: 4 },
    });
    expect(only(story, 'b')).toMatchObject({ settled: { position: 3, by: 'RunCancelled' }, answered: { position: 4 } });
  });

  test('with its bridge lost has an unknown outcome', () => {
    expect(only(two.started('o').cancelled().leaseExpired('o'), 'o')).toMatchObject({
      settled: { status: 'unknown', by: 'LeaseExpired' },
      answered: { position: 4 },
    });
  });
});

test('one id in two batches is two calls', () => {
  const story = started
    .observed([call('a', 'read', { path: 'x' })])
    .batchDone()
    .observed([call('a', 'free')]);
  expect(explained(story, 'a').map(({ batch_id, status }) => [batch_id, status])).toEqual([
    ['batch-1', 'succeeded'],
    ['batch-2', 'queued'],
  ]);
  expect(explained(story, 'absent')).toEqual([]);
});

describe('the conflict of two calls', () => {
  const tools = batchTools();

  test('explains every edge of a plan, and the plan orders every conflicting pair', () => {
    for (let seed = 1; seed <= roundsOf(50, 2_000); seed += 1) {
      const { planned_calls, execution_plan } = planBatch(tools, randomBatch(randomFrom(seed), 24));
      const byId = new Map(planned_calls.map((planned) => [planned.call_id, planned]));
      const behind = new Map<CallId, Set<CallId>>();
      for (const [index, planned] of planned_calls.entries()) {
        const after = execution_plan.after[planned.call_id] ?? [];
        for (const id of after) {
          const earlier = byId.get(id);
          expect(
            earlier && conflictBetween(earlier, planned),
            `seed ${seed}: ${id} before ${planned.call_id}`,
          ).not.toBeNull();
        }
        const all = new Set(after.flatMap((id) => [id, ...(behind.get(id) ?? [])]));
        behind.set(planned.call_id, all);
        for (const earlier of planned_calls.slice(0, index)) {
          if (conflictBetween(earlier, planned) === null) continue;
          expect(all.has(earlier.call_id), `seed ${seed}: ${earlier.call_id}, ${planned.call_id}`).toBe(true);
        }
      }
    }
  });

  test.each([
    ['fs/a', 'fs/a', true],
    ['fs/a', 'fs/a/b', true],
    ['fs/a/b', 'fs/a', true],
    ['fs/a', 'fs/ab', false],
    ['fs/a-b', 'fs/a', false],
    ['fs/a', 'fs/b', false],
  ])('a write of %s and a read of %s: %s', (earlier, later, conflicts) => {
    const side = (key: string, access: 'read' | 'write') => ({ parallel_safe: true, claims: [{ key, access }] });
    expect(conflictBetween(side(earlier, 'write'), side(later, 'read')) !== null).toBe(conflicts);
    expect(conflictBetween(side(earlier, 'read'), side(later, 'write')) !== null).toBe(conflicts);
    expect(conflictBetween(side(earlier, 'read'), side(later, 'read'))).toBeNull();
  });
});

describe('a call that a person was asked about', () => {
  const asked = session()
    .runRequested()
    .observed([call('a', 'asks', { n: 1 })]);

  test('is explained with the reason for asking, and waits until it is answered', () => {
    expect(only(asked, 'a')).toMatchObject({
      status: 'waiting',
      consent: { ask: 'person', reasons: ['tool_asks'] },
      confirmations: [],
      settled: null,
    });
  });

  test('is explained with who allowed it, when, and what else they allowed', () => {
    const allowed = asked.allowed('a', { by: 'ada', message: 'go on', grant: {} });
    expect(only(allowed, 'a')).toMatchObject({
      status: 'queued',
      confirmations: [{ position: 2, result: 'allow', by: 'ada', message: 'go on', granted: true, instead: null }],
    });
    expect(only(allowed.settled('a'), 'a')).toMatchObject({ status: 'succeeded', confirmations: [{ by: 'ada' }] });
  });

  test('is explained with who denied it, and with the call that replaced it', () => {
    const instead = call('b', 'asks', { n: 2 });
    const denied = asked.denied('a', { by: 'ada', instead });
    expect(only(denied, 'a')).toMatchObject({
      status: 'denied',
      settled: { position: 2, status: 'denied', by: 'user.tool_confirmation' },
      confirmations: [{ result: 'deny', instead: 'b' }],
    });
    const after = denied.batchSettled();
    expect(only(after, 'b')).toMatchObject({ index: 0, observed: { position: 3 }, batch_id: 'batch-2' });
  });

  test('a call that no person was asked about has no confirmation', () => {
    const free = session()
      .runRequested()
      .observed([call('a', 'free')]);
    expect(only(free, 'a')).toMatchObject({ consent: null, confirmations: [] });
  });
});

test('an attempt that failed for a transient reason is not a lost bridge', () => {
  const story = session({ config: { retry: { attempts_max: 3, base_ms: 10, cap_ms: 100 } } })
    .runRequested()
    .observed([call('f', 'free')])
    .started('f');
  const fields = story.settlementFields('f', { success: false });
  const again = story.takes('ToolCallSettled', { ...fields, retryable: true, jitter_permille: 1_000 });
  expect(only(again, 'f')).toMatchObject({ status: 'queued', losses: [{ position: 3, attempt: 1, why: 'retried' }] });
});
