// Identical read-only calls of one batch run once, and every one of them is answered.
import { describe, expect, test } from 'vitest';
import { planBatch } from '../../src/core/index.ts';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, call } from '../support/session.ts';

const read = (id: string, path = 'a') => call(id, 'read', { path });
const open = (...calls: ReturnType<typeof call>[]): Session => calling(asking({}, { share_reads: true }), ...calls);
const shares = (of: Session): readonly (string | null)[] =>
  of.plan().planned_calls.map((planned) => planned.shares ?? null);

describe('which calls share', () => {
  test('those that are the same in tool and arguments, whatever the order of their keys', () => {
    const run = open(
      call('a', 'read', { path: 'x', n: 1 }),
      call('b', 'read', { n: 1, path: 'x' }),
      call('c', 'read', { n: 2, path: 'x' }),
    );
    expect(shares(run)).toEqual([null, 'a', null]);
  });

  test('none between which something may change what they read', () => {
    expect(shares(open(read('a'), call('w', 'write', { path: 'a' }), read('b')))).toEqual([null, null, null]);
    expect(shares(open(read('a'), call('w', 'write', { path: 'b' }), read('b')))).toEqual([null, null, 'a']);
    expect(shares(open(read('a'), call('x', 'barrier'), read('b'), read('c')))).toEqual([null, null, null, 'b']);
  });

  test('none that may change something, asks a person, or is answered by the fold', () => {
    const twice = (tool: string) => [call('a', tool, { n: 1 }), call('b', tool, { n: 1 })] as const;
    for (const tool of ['free', 'asks', 'person', 'permissions_describe']) {
      expect(shares(open(...twice(tool)))).toEqual([null, null]);
    }
    expect(
      shares(calling(asking({ tools: { read: 'always_ask' } }, { share_reads: true }), read('a'), read('b'))),
    ).toEqual([null, null]);
  });

  test('none of an open world, whose answer may differ each time', () => {
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

  test('none in a run that shares nothing', () => {
    expect(shares(calling(asking({}, { share_reads: false }), read('a'), read('b')))).toEqual([null, null]);
  });
});

describe('a shared call', () => {
  const run = open(read('a'), read('b'), read('c'), call('w', 'write', { path: 'a' }));

  test('is not owed by itself, and holds back what waits for it until its result has come', () => {
    expect(owed(run)).toEqual(['tool.call a', 'tool.call w']);
    expect(run.refusal('ToolCallStarted', { ...run.callFields('w'), owner: 'b' }).code).toBe('call_not_ready');
    expect(owed(run.settled('a'))).toEqual(['tool.call w']);
  });

  test('gets the result of the call that runs for it, success or not, in its own place', () => {
    const settled = run.started('a').settled('a', { success: false, output: 'gone' });
    expect(statuses(settled)).toEqual(['failed', 'failed', 'failed', 'queued']);
    expect(settled.settled('w').batchSettled().transcript().slice(-4)).toEqual([
      'tool! a gone',
      'tool! b gone',
      'tool! c gone',
      'tool w output of w',
    ]);
  });

  test('is not reported on', () => {
    expect(run.refusal('ToolCallSettled', run.settlementFields('b')).code).toBe('shares_result');
    expect(run.refusal('ToolCallStarted', { ...run.callFields('b'), owner: 'x' }).code).toBe('shares_result');
  });

  test('waits through a lost lease and a retry, and is cancelled with the other', () => {
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

  test('of a running call outlives an interrupt with it', () => {
    const ending = run.started('a').interrupted();
    expect(statuses(ending)).toEqual(['running', 'queued', 'queued', 'cancelled']);
    expect(ending.settled('a').transcript().slice(-4, -1)).toEqual([
      'tool a output of a',
      'tool b output of a',
      'tool c output of a',
    ]);
  });
});
