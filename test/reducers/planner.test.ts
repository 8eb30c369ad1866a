// The planner, case by case: refusals with their codes, claims from arguments, sizes, and the digest of the plan.
// planner-reference.test.ts compares it with a reference on random batches.
import { describe, expect, test } from 'vitest';
import { CLAIMS_PER_BATCH_MAX, PLAN_EDGES_MAX } from '../../schemas/limits.ts';
import { type ToolBatchPlan, brand, digest } from '../../schemas/index.ts';
import { planBatch, planHash } from '../../src/core/index.ts';
import { INVALID, call, session } from '../support/session.ts';
import { referencePlan } from '../support/reference-planner.ts';
import { profileOf, tool } from '../support/tools.ts';

const TOOLS = session().state.effective_tools;
const plan = (...calls: Parameters<typeof call>[]): ToolBatchPlan =>
  planBatch(
    TOOLS,
    calls.map((made) => call(...made)),
  );
const groupsOf = (...calls: Parameters<typeof call>[]): readonly (readonly string[])[] =>
  plan(...calls).execution_plan.groups;

describe('refusals and their codes', () => {
  const codeOf = (...made: Parameters<typeof call>): string | undefined => plan(made).rejected[0]?.code;

  test('tool_unknown lists the available tools', () => {
    expect(plan(['a', 'nope']).rejected).toEqual([
      {
        call_id: 'a',
        index: 0,
        tool_name: 'nope',
        code: 'tool_unknown',
        message: expect.stringContaining('read, write'),
      },
    ]);
  });

  test('tool_not_offered, tool_disabled, tool_unavailable, executor_unsupported', () => {
    expect(codeOf('a', 'spare')).toBe('tool_not_offered');
    expect(codeOf('a', 'hosted')).toBe('tool_unavailable');
    expect(codeOf('a', 'workflow')).toBe('executor_unsupported');
    const disabled = session().takes('ToolOverridesSet', { scope: 'session', disable: ['read'] }).state.effective_tools;
    expect(planBatch(disabled, [call('a', 'read')]).rejected[0]?.code).toBe('tool_disabled');
  });

  test('tool_invalid_args, by the recorded verdict or because the arguments are not an object', () => {
    expect(plan(['a', 'read', {}, { arguments_verdict: INVALID }]).rejected[0]).toMatchObject({
      code: 'tool_invalid_args',
      message: 'The arguments are not valid at /path: must have a path. Correct them and make the call again.',
    });
    const text = { call_id: 'a', tool_name: 'read', arguments_text: '[1]' } as never;
    expect(planBatch(TOOLS, [text]).rejected[0]?.code).toBe('tool_invalid_args');
  });

  test('duplicate_call_id: the first is planned, the second refused', () => {
    const twice = plan(['a', 'free', { n: 1 }], ['a', 'free', { n: 2 }]);
    expect(twice.planned_calls.map((made) => made.call_id)).toEqual(['a']);
    expect(twice.rejected).toMatchObject([{ index: 1, code: 'duplicate_call_id' }]);
  });

  test('tool_not_offered when the definition changed since the offer', () => {
    const changed = {
      ...TOOLS,
      ordered_tools: TOOLS.ordered_tools.map((tool) => ({ ...tool, tool_ref: `sha256:${'2'.repeat(64)}` as never })),
    };
    expect(planBatch(TOOLS, [call('a', 'read')], { offer: changed }).rejected[0]?.code).toBe('tool_not_offered');
  });
});

describe('claims from arguments', () => {
  test.each([
    ['the same file, spelled differently', 'a//b/../c', './a/c', [['w'], ['r']]],
    ['a folder and a file below it', 'a', 'a/b/c', [['w'], ['r']]],
    ['a file and the folder it is in', 'a/b', 'a', [['w'], ['r']]],
    ['names that only begin alike', 'a/b', 'a/bc', [['w', 'r']]],
    ['different files', 'a/b', 'a/c', [['w', 'r']]],
    ['one that leaves the workspace and comes back', '../x', 'a', [['w'], ['r']]],
    ['an absolute path', '/a', 'b', [['w'], ['r']]],
    ['a path that a host may spell in two ways', 'é', 'b', [['w'], ['r']]],
    ['a backslash', 'a\\b', 'c', [['w'], ['r']]],
    ['the root of the workspace', '.', 'c', [['w'], ['r']]],
  ])('%s', (_, written, read, groups) => {
    expect(groupsOf(['w', 'write', { path: written }], ['r', 'read', { path: read }])).toEqual(groups);
  });

  test.each([{}, { path: '' }, { path: 7 }, { path: null }, { path: ['a'] }])(
    'a missing or malformed argument %j claims the whole space',
    (args) => {
      expect(plan(['w', 'write', args]).planned_calls[0]?.claims).toEqual([{ access: 'write', key: 'fs' }]);
    },
  );

  test('a patch claims every path it names', () => {
    const patch =
      '*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-x\n*** Add File: c/d\n+y\n*** Delete File: e\n*** End Patch';
    expect(plan(['p', 'patch', { patch }]).planned_calls[0]?.claims.map(({ key }) => key)).toEqual([
      'fs/a',
      'fs/b',
      'fs/c/d',
      'fs/e',
    ]);
    expect(plan(['p', 'patch', { patch: 'no header' }]).planned_calls[0]?.claims).toEqual([
      { access: 'write', key: 'fs' },
    ]);
  });

  test.each([
    ['case', 'Dir/A.txt', 'dir/a.TXT'],
    ['case, in a patch', 'a.md', '*** Begin Patch\n*** Add File: A.MD\n+x\n*** End Patch'],
  ])('two spellings that a file system may take for one name conflict (%s)', (_name, one, other) => {
    const patch = other.startsWith('***');
    const second: Parameters<typeof groupsOf>[number] = patch
      ? ['b', 'patch', { patch: other }]
      : ['b', 'write', { path: other }];
    expect(groupsOf(['a', 'write', { path: one }], second)).toEqual([['a'], ['b']]);
  });

  test.each(['\u2028', '\u2029', '\r', '\u0085'])('a path with %j in a patch claims the whole space', (odd) => {
    for (const header of ['*** Move to: ', '*** Add File: ', '*** Delete File: ']) {
      const patch = `*** Begin Patch\n*** Update File: a\n${header}b${odd}c\n@@\n-x\n+y\n*** End Patch`;
      expect(plan(['p', 'patch', { patch }]).planned_calls[0]?.claims).toEqual([{ access: 'write', key: 'fs' }]);
    }
  });

  test('reads do not conflict', () => {
    expect(groupsOf(['a', 'read', { path: 'x' }], ['b', 'read', { path: 'x' }], ['c', 'read', {}])).toEqual([
      ['a', 'b', 'c'],
    ]);
  });

  test('a call that reads and writes one key claims the write, in either order', () => {
    const at = (argument: string, access: 'read' | 'write') =>
      ({ space: 'fs', argument, form: 'path', access }) as const;
    const moves = [
      tool('into', { parallelism_hint: { parallel_safe: true, claims: [at('to', 'write'), at('from', 'read')] } }),
      tool('out_of', { parallelism_hint: { parallel_safe: true, claims: [at('from', 'read'), at('to', 'write')] } }),
    ];
    const provider_profiles = [{ provider_contains: '', profile_id: brand<'ProfileId'>('moves') }];
    const tool_package = { registry: moves, profiles: [profileOf('moves', moves)], provider_profiles };
    const { effective_tools } = session({ tool_package }).state;
    for (const { tool_name } of moves) {
      const args = { from: 'x', to: './x' };
      const { planned_calls, execution_plan } = planBatch(effective_tools, [
        call('a', tool_name, args),
        call('b', tool_name, args),
      ]);
      expect(planned_calls[0]?.claims).toEqual([{ access: 'write', key: 'fs/x' }]);
      expect(execution_plan.groups).toEqual([['a'], ['b']]);
    }
  });

  test('a resource key is a write claim', () => {
    expect(groupsOf(['a', 'keyed'], ['b', 'keyed'], ['c', 'free'])).toEqual([['a', 'c'], ['b']]);
  });

  test('claims recorded by the edge are used for arguments in a blob', () => {
    const ref = { ref: `sha256:${'3'.repeat(64)}`, bytes: 9_000, head: '', tail: '' };
    const blob = { call_id: 'a', tool_name: 'write', arguments_ref: ref } as never;
    expect(planBatch(TOOLS, [blob]).planned_calls[0]?.claims).toEqual([{ access: 'write', key: 'fs' }]);
    const claimed = { ...(blob as object), claims: [{ access: 'write', key: 'fs/x' }] } as never;
    expect(planBatch(TOOLS, [claimed]).planned_calls[0]?.claims).toEqual([{ access: 'write', key: 'fs/x' }]);
  });
});

describe('groups and edges', () => {
  test('a call joins the earliest group in which it does not conflict', () => {
    const made = plan(
      ['a', 'write', { path: 'x' }],
      ['b', 'read', { path: 'x' }],
      ['c', 'write', { path: 'y' }],
      ['d', 'read', { path: 'y' }],
    );
    expect(made.execution_plan).toEqual({
      groups: [
        ['a', 'c'],
        ['b', 'd'],
      ],
      after: { a: [], b: ['a'], c: [], d: ['c'] },
    });
  });

  test('after holds no implied edges: in a chain of writes each waits for the one before', () => {
    expect(
      plan(['a', 'write', { path: 'x' }], ['b', 'write', { path: 'x' }], ['c', 'write', { path: 'x' }]).execution_plan
        .after,
    ).toEqual({ a: [], b: ['a'], c: ['b'] });
  });

  test('a call that runs alone waits for all before it, and all later calls wait for it', () => {
    expect(
      plan(['a', 'free'], ['b', 'free', { n: 1 }], ['x', 'barrier'], ['c', 'free', { n: 2 }]).execution_plan,
    ).toEqual({
      groups: [['a', 'b'], ['x'], ['c']],
      after: { a: [], b: [], x: ['a', 'b'], c: ['x'] },
    });
  });
});

describe('sizes', () => {
  test('no call', () => {
    expect(plan()).toMatchObject({ planned_calls: [], rejected: [], execution_plan: { groups: [], after: {} } });
  });

  test('one call', () => {
    expect(plan(['a', 'barrier']).execution_plan).toEqual({ groups: [['a']], after: { a: [] } });
  });

  test.each([
    ['of one file', (index: number) => ({ path: index % 3 === 0 ? 'x' : 'x/y' })],
    ['of many files', (index: number) => ({ path: `d${index % 13}/f${index % 997}` })],
    ['of the whole workspace and one file, in turn', (index: number) => (index % 2 === 0 ? {} : { path: `f${index}` })],
  ])('10,000 calls %s', (_, argsOf) => {
    const calls = Array.from({ length: 10_000 }, (__, index) =>
      call(`c${index}`, index % 2 === 0 ? 'read' : 'write', argsOf(index)),
    );
    const made = planBatch(TOOLS, calls);
    expect(made.planned_calls.length + made.rejected.length).toBe(10_000);
    expect(made.execution_plan.groups.flat().length).toBe(made.planned_calls.length);
  });

  test('1,000 calls have the same plan as in the reference', () => {
    const calls = Array.from({ length: 1_000 }, (_, index) =>
      call(`c${index}`, ['read', 'write', 'copy', 'free'][index % 4] ?? 'free', {
        path: `d${index % 7}/f${index % 31}`,
        from: `d${index % 5}`,
        to: `d${index % 7}/t`,
      }),
    );
    const made = planBatch(TOOLS, calls);
    const { groups, after } = made.execution_plan;
    expect({ groups, after }).toEqual(
      (({ execution_plan }) => ({ groups: execution_plan.groups, after: execution_plan.after }))(reference(calls)),
    );
  });

  test(`the calls of a plan have at most ${CLAIMS_PER_BATCH_MAX} claims; a call beyond them claims its whole space`, () => {
    const files = 100;
    const patchOf = (at: number): string =>
      Array.from({ length: files }, (_, index) => `*** Add File: d${at}/f${index}\n+x\n`).join('');
    const calls = Array.from({ length: 90 }, (_, at) =>
      call(`p${at}`, 'patch', { patch: `*** Begin Patch\n${patchOf(at)}*** End Patch` }),
    );
    const made = planBatch(TOOLS, calls);
    const claims = made.planned_calls.map((planned) => planned.claims.length);
    const whole = Math.floor(CLAIMS_PER_BATCH_MAX / files);
    expect(claims.slice(0, whole)).toEqual(claims.slice(0, whole).map(() => files));
    expect(claims.slice(whole)).toEqual(claims.slice(whole).map(() => 1));
    // Whole spaces conflict with every call before.
    expect(made.execution_plan.after[brand<'CallId'>(`p${whole}`)]).toHaveLength(whole);
  });

  test(`a plan has at most ${PLAN_EDGES_MAX} edges; calls beyond it are refused and can be made in the next turn`, () => {
    const reads = Array.from({ length: 1_000 }, (_, index) => call(`r${index}`, 'read', {}));
    const writes = Array.from({ length: 200 }, (_, index) => call(`w${index}`, 'write', { path: `f${index}` }));
    const made = planBatch(TOOLS, [...reads, ...writes]);
    const edges = Object.values(made.execution_plan.after).reduce((sum, waits) => sum + waits.length, 0);
    expect(edges).toBe(PLAN_EDGES_MAX);
    expect(made.rejected).toHaveLength(168);
    expect(new Set(made.rejected.map(({ code }) => code))).toEqual(new Set(['batch_too_entangled']));
  });
});

const reference = (calls: readonly ReturnType<typeof call>[]) => {
  const simple = referencePlan(TOOLS, calls, null);
  return { execution_plan: { groups: simple.groups, after: simple.after } };
};

describe('the plan’s digest', () => {
  const made = plan(['a', 'write', { path: 'x' }], ['b', 'nope']);

  test('is that of the stored plan', () => {
    const { plan_hash, ...rest } = made;
    expect(plan_hash).toBe(digest(rest));
    expect(planHash(made)).toBe(plan_hash);
  });

  test('does not change while the calls settle', () => {
    const opened = session()
      .runRequested()
      .observed([call('a', 'free'), call('b', 'once')]);
    const before = opened.plan();
    const after = opened.started('b').settled('a').settled('b');
    expect(after.plan()).toBe(before);
    expect(after.batchSettled().state.last_tool_plan_hash).toBe(before.plan_hash);
  });

  test('differs when any call, argument or order differs', () => {
    const others = [
      plan(['a', 'write', { path: 'y' }], ['b', 'nope']),
      plan(['a', 'write', { path: 'x', more: 1 }], ['b', 'nope']),
      plan(['b', 'nope'], ['a', 'write', { path: 'x' }]),
      plan(['c', 'write', { path: 'x' }], ['b', 'nope']),
    ];
    expect(new Set([made, ...others].map(({ plan_hash }) => plan_hash)).size).toBe(5);
  });
});
