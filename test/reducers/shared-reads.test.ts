// Identical read-only calls of one batch run once, and each of them gets the result.
import { describe, expect, test } from 'vitest';
import { planBatch } from '../../src/core/index.ts';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';

const read = (id: string, path = 'a') => call(id, 'read', { path });
const open = (...calls: ReturnType<typeof call>[]): Session => calling(asking({}, { share_reads: true }), ...calls);
const shares = (of: Session): readonly (string | null)[] =>
  of.plan().planned_calls.map((planned) => planned.shares ?? null);

describe('which calls share', () => {
  test('calls with the same tool and arguments, in any order of keys', () => {
    const run = open(
      call('a', 'read', { path: 'x', n: 1 }),
      call('b', 'read', { n: 1, path: 'x' }),
      call('c', 'read', { n: 2, path: 'x' }),
    );
    expect(shares(run)).toEqual([null, 'a', null]);
  });

  test('no calls with a write between them', () => {
    expect(shares(open(read('a'), call('w', 'write', { path: 'a' }), read('b')))).toEqual([null, null, null]);
    expect(shares(open(read('a'), call('w', 'write', { path: 'b' }), read('b')))).toEqual([null, null, 'a']);
    expect(shares(open(read('a'), call('x', 'barrier'), read('b'), read('c')))).toEqual([null, null, null, 'b']);
  });

  test('no calls that write, ask a person, or are workflows', () => {
    const twice = (tool: string) => [call('a', tool, { n: 1 }), call('b', tool, { n: 1 })] as const;
    for (const tool of ['free', 'asks', 'person', 'permissions_describe']) {
      expect(shares(open(...twice(tool)))).toEqual([null, null]);
    }
    expect(
      shares(calling(asking({ tools: { read: 'always_ask' } }, { share_reads: true }), read('a'), read('b'))),
    ).toEqual([null, null]);
  });

  test('no calls to an open world, whose answers may differ', () => {
    const { effective_tools } = open(read('a')).state;
    const planned = (open_world: boolean) => {
      const ordered_tools = effective_tools.ordered_tools.map((entry) => ({ ...entry, open_world }));
      const plan = planBatch({ ...effective_tools, ordered_tools }, [read('a'), read('b')], { shareReads: true });
      return plan.planned_calls.map((entry) => entry.shares ?? null);
    };
    expect([planned(false), planned(true)]).toEqual([
      [null, 'a'],
      [null, null],
    ]);
  });

  test('no calls in a run with share_reads off', () => {
    expect(shares(calling(asking({}, { share_reads: false }), read('a'), read('b')))).toEqual([null, null]);
  });
});

describe('a shared call', () => {
  const run = open(read('a'), read('b'), read('c'), call('w', 'write', { path: 'a' }));

  test('is not owed, and calls that wait for it wait for its result', () => {
    expect(owed(run)).toEqual(['tool.call a', 'tool.call w']);
    expect(run.refusal('ToolCallStarted', { ...run.callFields('w'), owner: 'b' }).code).toBe('call_not_ready');
    expect(owed(run.settled('a'))).toEqual(['tool.call w']);
  });

  test('gets the result of the call it shares, success or failure, at its place in call order', () => {
    const settled = run.started('a').settled('a', { success: false, output: 'gone' });
    expect(statuses(settled)).toEqual(['failed', 'failed', 'failed', 'queued']);
    expect(settled.settled('w').batchSettled().transcript().slice(-4)).toEqual([
      'tool! a gone',
      'tool! b gone',
      'tool! c gone',
      'tool w output of w',
    ]);
  });

  test('cannot be reported on', () => {
    expect(run.refusal('ToolCallSettled', run.settlementFields('b')).code).toBe('shares_result');
    expect(run.refusal('ToolCallStarted', { ...run.callFields('b'), owner: 'x' }).code).toBe('shares_result');
  });

  test('waits during a lost lease and a retry, and is cancelled with the other call', () => {
    const lost = run.started('a').leaseExpired('a');
    expect(statuses(lost)).toEqual(['queued', 'queued', 'queued', 'queued']);
    expect(owed(lost)).toEqual(['tool.call a', 'tool.call w']);
    const retried = lost.takes('ToolCallSettled', {
      ...lost.settlementFields('a', { success: false }),
      retryable: true,
    });
    expect(owed(retried)).toEqual(['tool.call w', 'wake']);
    expect(
      retried
        .cancelled()
        .transcript()
        .filter((line) => line.includes('cancelled')),
    ).toHaveLength(4);
  });

  test('waits for a running call during an interrupt', () => {
    const ending = run.started('a').interrupted();
    expect(statuses(ending)).toEqual(['running', 'queued', 'queued', 'cancelled']);
    expect(ending.settled('a').transcript().slice(-4, -1)).toEqual([
      'tool a output of a',
      'tool b output of a',
      'tool c output of a',
    ]);
  });
});
