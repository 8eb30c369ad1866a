// Defects that systems of this kind had, each by name; refold must not have them.
import { describe, expect, test } from 'vitest';
import { digest } from '../../schemas/index.ts';
import { planHash } from '../../src/core/index.ts';
import { call, session } from '../support/session.ts';

describe('lost calls', () => {
  test('a rejected call is reported to the model, and does not break the pairing', () => {
    const next = session()
      .runRequested()
      .observed([call('a', 'nope'), call('b', 'free')])
      .batchDone();
    expect(next.transcript()).toEqual([
      'user go',
      'assistant [a b]',
      expect.stringMatching(/^tool! a /),
      'tool b output of b',
    ]);
  });

  test('a batch in which no call may run does not block the run', () => {
    const none = session()
      .runRequested()
      .observed([call('a', 'nope')]);
    expect(none.effects()).toHaveLength(1);
    expect(none.batchSettled().effectsOf('llm.generate')).toHaveLength(1);
  });

  test('a call that failed before it ran has a result too', () => {
    const failed = session()
      .runRequested()
      .observed([call('a', 'once')])
      .settled('a', { success: false, code: 'tool_invalid_args', output: 'no such blob' });
    expect(failed.batchSettled().transcript().at(-1)).toBe('tool! a no such blob');
  });

  test('calls of a host loop can be settled', () => {
    const owed = session()
      .runRequested()
      .observed([call('a', 'free')])
      .effectsOf('tool.call');
    expect(owed).toMatchObject([{ executor: { kind: 'host_loop' }, call_id: 'a' }]);
  });

  test('of two calls with one id the second is refused, and both are answered', () => {
    const twice = session()
      .runRequested()
      .observed([call('a', 'free', { n: 1 }), call('a', 'free', { n: 2 })]);
    const done = twice.settled('a').batchSettled();
    expect(done.transcript().slice(-2)).toEqual([
      'tool a output of a',
      expect.stringMatching(/^tool! a~1 error: duplicate_call_id/),
    ]);
  });

  test('an answer without calls ends the run', () => {
    expect(session().runRequested().answered('done').phase()).toBe('idle');
  });
});

describe('settlements that overwrite', () => {
  const settled = session()
    .runRequested()
    .observed([call('a', 'once')])
    .settled('a', { output: 'first' });

  test('a second result does not replace the first', () => {
    expect(settled.refusal('ToolCallSettled', settled.settlementFields('a', { output: 'second' }))).toMatchObject({
      code: 'call_already_settled',
    });
    expect(settled.callState('a')?.output).toEqual({ text: 'first' });
  });

  test('identical calls are settled by their own ids, in any order', () => {
    const same = session()
      .runRequested()
      .observed([call('a', 'free', { n: 1 }), call('b', 'free', { n: 1 })]);
    const done = same.settled('b', { output: 'of b' }).settled('a', { output: 'of a' }).batchSettled();
    expect(done.transcript().slice(-2)).toEqual(['tool a of a', 'tool b of b']);
  });

  test('a late answer after a cancel does not change the next run', () => {
    const first = session().runRequested();
    const late = { ...first.turnFields(), calls: [call('a', 'free')] };
    const second = first.cancelled().runRequested();
    expect(second.refusal('ToolCallsObserved', late)).toMatchObject({ code: 'wrong_run' });
    const lateFailure = { ...first.turnFields(), code: 'timeout', message: 'late' };
    expect(second.refusal('GenerateFailed', lateFailure)).toMatchObject({ code: 'wrong_run' });
  });

  test('a failure report during a pause is accepted', () => {
    expect(session().runRequested().paused().generateFailed().ending()).toMatchObject({ outcome: 'failed' });
  });
});

describe('stale hashes', () => {
  test('the hash is that of the stored plan, which does not change', () => {
    const opened = session()
      .runRequested()
      .observed([call('a', 'write', { path: 'x' })]);
    const done = opened.started('a').settled('a');
    expect(done.plan().plan_hash).toBe(planHash(done.plan()));
    expect(done.state.last_tool_plan_hash).toBe(planHash(done.plan()));
  });

  test('the plan binds each call to its arguments', () => {
    const { planned_calls } = session()
      .runRequested()
      .observed([call('a', 'write', { path: 'x' })])
      .plan();
    expect(planned_calls[0]?.arguments_digest).toBe(digest({ path: 'x' }));
  });
});

describe('unexpected tool sets', () => {
  test('overrides of a run change what the run may call', () => {
    const run = session()
      .runRequested()
      .takes('ToolOverridesSet', { scope: 'run', disable: ['free'] });
    expect(run.observed([call('a', 'free')]).rejections()).toEqual({ 0: 'tool_disabled' });
  });

  test('a selected profile stays selected', () => {
    const selected = session().takes('ToolProfileSelected', { profile_id: 'few' });
    expect(selected.runRequested().answered('x').state.tool_profile).toBe('few');
  });

  test('tools of an ended run do not stay effective', () => {
    const run = session().runRequested({}, { tools: { enable: ['spare'], disable: [], force: [] } });
    expect(run.toolIds()).toContain('spare');
    expect(run.answered('done').toolIds()).not.toContain('spare');
  });

  test('a profile that names a tool twice offers it once', () => {
    const { tool_package } = session();
    const doubled = {
      ...tool_package,
      profiles: tool_package.profiles.map((profile) => ({
        ...profile,
        tool_ids: [...profile.tool_ids, ...profile.tool_ids],
      })),
    };
    const { ordered_tools } = session({ tool_package: doubled }).state.effective_tools;
    expect(new Set(ordered_tools).size).toBe(ordered_tools.length);
  });

  test('a read and a write of one file are never in one group', () => {
    expect(
      session()
        .runRequested()
        .observed([call('r', 'read', { path: 'x' }), call('w', 'write', { path: 'x' })])
        .plan().execution_plan.groups,
    ).toEqual([['r'], ['w']]);
  });

  test('two writes of different files are in one group', () => {
    expect(
      session()
        .runRequested()
        .observed([call('a', 'write', { path: 'x' }), call('b', 'write', { path: 'y' })])
        .plan().execution_plan.groups,
    ).toEqual([['a', 'b']]);
  });
});

describe('time and order', () => {
  test('state has one unit of time, and it comes from events', () => {
    const run = session().runRequested();
    expect(run.state.updated_at_ms).toBe(run.events.at(-1)?.at_ms);
    expect(run.state.run?.started_at_ms).toBe(run.events[0]?.at_ms);
  });

  test('a refused event changes nothing', () => {
    const few = session();
    const fields = { registry: few.tool_package.registry.slice(0, 1), profiles: [] };
    expect(few.refusal('ToolRegistrySet', fields as never)).toMatchObject({ code: 'registry_invalid' });
  });

  test('the reason of an interrupt or a cancel and the code of a failure are kept', () => {
    expect(session().runRequested().interrupted('lunch').ending()?.message).toBe('lunch');
    expect(session().runRequested().cancelled('never mind').ending()?.message).toBe('never mind');
    expect(session().runRequested().failed('quota', 'empty').ending()).toMatchObject({
      code: 'quota',
      message: 'empty',
    });
  });
});

// `process` is not poisoned: immer reads it to choose the form of its errors.
test('the fold uses no clock, random source or locale', () => {
  const recorded = session()
    .runRequested()
    .observed([call('a', 'write', { path: 'x' }), call('b', 'nope')])
    .batchDone()
    .answered('done');
  const poison = (name: string): unknown =>
    new Proxy(() => undefined, {
      get: () => {
        throw new Error(`${name} was used`);
      },
      apply: () => {
        throw new Error(`${name} was called`);
      },
      construct: () => {
        throw new Error(`${name} was made`);
      },
    });
  const names = ['Date', 'Intl', 'performance', 'crypto', 'setTimeout', 'queueMicrotask', 'Buffer'] as const;
  const kept = names.map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
  const { random } = Math;
  let again: string;
  try {
    for (const name of names)
      Object.defineProperty(globalThis, name, { value: poison(name), configurable: true, writable: true });
    Math.random = () => {
      throw new Error('Math.random was called');
    };
    let now = session();
    for (const event of recorded.events) now = now.taking(event);
    again = JSON.stringify(now.state);
  } finally {
    Math.random = random;
    for (const [name, descriptor] of kept)
      if (descriptor !== undefined) Object.defineProperty(globalThis, name, descriptor);
  }
  expect(again).toBe(JSON.stringify(recorded.state));
});
