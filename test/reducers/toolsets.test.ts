// Toolsets: what sets, approves and removes the tools of one source, what is refused, and which of them are effective.
import { describe, expect, test } from 'vitest';
import { type SessionState, brand, defineTool, definitionDigest, toolsetNamedBy } from '../../schemas/index.ts';
import { limits, ToolsetName } from '../../schemas/index.ts';
import { explain } from '../../src/core/index.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { type FieldsOf, type Session, call, session } from '../support/session.ts';
import { profileOf, testPackage, tool } from '../support/tools.ts';

const IDS = ['skill.a', 'skill.b'] as const;

const setFields = (
  versions: Readonly<Record<string, number>>,
  rest: Partial<FieldsOf<'ToolsetSet'>> = {},
): FieldsOf<'ToolsetSet'> => ({
  toolset: 'skill',
  owner: 'engine',
  tools: Object.entries(versions).map(([id, version]) => toolsetTool(id, version)),
  ...rest,
});

const set = (of: Session, versions: Readonly<Record<string, number>>, rest: Partial<FieldsOf<'ToolsetSet'>> = {}) =>
  of.takes('ToolsetSet', setFields(versions, rest));

const BOTH = { 'skill.a': 0, 'skill.b': 0 };

/** An operator approves what the toolset has now, or only these. */
const approved = (of: Session, ids: readonly string[] = IDS): Session =>
  of.takes('ToolsetApproved', {
    toolset: 'skill',
    tools: Object.fromEntries(
      Object.entries(of.state.toolsets?.['skill']?.tools ?? {}).filter(([id]) => ids.includes(id)),
    ),
  });

const trusted = (of: Session = session()): Session => set(of, BOTH, { trust: 'first' });

const reasonsOf = (of: Session, id: string) => explain(of.state).find((row) => row.tool_id === id)?.reasons;
const offeredOf = ({ state }: Session, toolset = 'skill'): readonly string[] =>
  state.effective_tools.ordered_tools.map(({ tool_id }) => tool_id).filter((id) => toolsetNamedBy(id) === toolset);

describe('a toolset that is set', () => {
  test('waits for an operator, who approves some of it', () => {
    const waiting = set(session(), BOTH);
    expect(offeredOf(waiting)).toEqual([]);
    expect(reasonsOf(waiting, 'skill.a')).toEqual(['not_approved']);
    const some = approved(waiting, ['skill.a']);
    expect(offeredOf(some)).toEqual(['skill.a']);
    expect(reasonsOf(some, 'skill.a')).toEqual(['in_toolset']);
    expect(reasonsOf(some, 'skill.b')).toEqual(['definition_changed']);
    expect(offeredOf(approved(some))).toEqual(IDS);
  });

  test('is approved at once where its source is trusted first, and never later', () => {
    const first = trusted();
    expect(offeredOf(first)).toEqual(IDS);
    const later = set(first, { 'skill.a': 1, 'skill.b': 0, 'skill.c': 0 }, { trust: 'first' });
    expect(offeredOf(later)).toEqual(['skill.b']);
    expect(['skill.a', 'skill.c'].map((id) => reasonsOf(later, id))).toEqual([
      ['definition_changed'],
      ['definition_changed'],
    ]);
    expect(offeredOf(approved(later, ['skill.a', 'skill.b', 'skill.c']))).toEqual(['skill.a', 'skill.b', 'skill.c']);
  });

  test('is in every profile, after its tools, and an override disables it', () => {
    const few = trusted().takes('ToolProfileSelected', { profile_id: 'few' });
    expect(few.state.effective_tools.ordered_tools.map(({ tool_id }) => tool_id)).toEqual(['write', 'read', ...IDS]);
    const disabled = few.takes('ToolOverridesSet', { scope: 'session', disable: ['skill.a'] });
    expect(reasonsOf(disabled, 'skill.a')).toEqual(['in_toolset', 'disabled_by_session']);
    expect(offeredOf(disabled)).toEqual(['skill.b']);
  });

  test.each(['enable', 'force'] as const)('is out while it is not approved, whatever one does to %s it', (list) => {
    const forced = set(session(), BOTH).takes('ToolOverridesSet', { scope: 'session', [list]: ['skill.a'] });
    expect(offeredOf(forced)).toEqual([]);
    expect(reasonsOf(forced, 'skill.a')).toEqual([
      list === 'enable' ? 'enabled_by_session' : 'forced_by_session',
      'not_approved',
    ]);
    expect(offeredOf(set(approved(forced), { 'skill.a': 1, 'skill.b': 0 }))).toEqual(['skill.b']);
  });

  test('replaces its own tools and nothing else', () => {
    const before = set(trusted(), { 'catalog.x': 0 }, { toolset: 'catalog', trust: 'first' });
    const after = set(before, { 'skill.b': 0, 'skill.d': 0 });
    const others = ({ state }: Session) =>
      Object.entries(state.tool_registry).filter(([id]) => toolsetNamedBy(id) !== 'skill');
    expect(others(after)).toEqual(others(before));
    expect(Object.keys(after.state.tool_registry).filter((id) => id.startsWith('skill.'))).toEqual([
      'skill.b',
      'skill.d',
    ]);
    expect(after.state.toolsets?.['catalog']).toBe(before.state.toolsets?.['catalog']);
  });

  test('keeps the approval of a tool that goes away and comes back the same', () => {
    const gone = set(trusted(), { 'skill.b': 0 });
    expect(gone.state.toolsets?.['skill']?.pins).toHaveProperty(['skill.a']);
    expect(offeredOf(set(gone, BOTH))).toEqual(IDS);
    expect(offeredOf(set(gone, { 'skill.a': 1, 'skill.b': 0 }))).toEqual(['skill.b']);
  });

  test('is pinned by what its source said, wherever the text is', () => {
    const { definition, spec } = toolsetTool('skill.a', 0);
    const inline = definition as { readonly text: string };
    const ref = definitionDigest(inline);
    const stored = { definition: { ref, bytes: inline.text.length, head: '', tail: '' }, spec };
    const of = trusted();
    expect(of.state.toolsets?.['skill']?.tools['skill.a']).toBe(ref);
    const same = of.takes('ToolsetSet', setFields({}, { tools: [stored, toolsetTool('skill.b', 0)] }));
    expect(offeredOf(same)).toEqual(IDS);
  });

  test('may be empty, and pins what comes first then', () => {
    const empty = set(session(), {}, { trust: 'first' });
    expect(empty.state.toolsets).toEqual({ skill: { owner: 'engine', pins: {}, tools: {} } });
    expect(offeredOf(set(empty, BOTH, { trust: 'first' }))).toEqual(IDS);
  });

  test('forgets the approvals of tools that went away beyond a bound', () => {
    const many = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`skill.t${String(from + at).padStart(5, '0')}`, 0]));
    const ids = (of: Session) => Object.keys(of.state.toolsets?.['skill']?.pins ?? {});
    let now = set(session(), many(0, limits.TOOLSET_TOOLS_MAX), { trust: 'first' });
    for (const from of [600, 1_200]) {
      now = set(now, many(from, limits.TOOLSET_TOOLS_MAX));
      now = approved(now, Object.keys(now.state.toolsets?.['skill']?.tools ?? {}));
    }
    expect(ids(now)).toHaveLength(limits.TOOLSET_PINS_MAX);
    expect(offeredOf(now)).toHaveLength(limits.TOOLSET_TOOLS_MAX);
    expect(ids(now)).toContain('skill.t00000');
    expect(ids(now)).not.toContain('skill.t01111');
  });
});

describe('a toolset that is removed', () => {
  test('is forgotten with its owner and what was approved, and leaves no trace in the state', () => {
    const removed = trusted().takes('ToolsetRemoved', { toolset: 'skill', by: 'Ada' });
    const { toolsets, tool_registry } = removed.state;
    expect([toolsets, Object.keys(tool_registry)]).toEqual([undefined, Object.keys(session().state.tool_registry)]);
    const again = set(removed, BOTH, { owner: 'other' });
    expect(reasonsOf(again, 'skill.a')).toEqual(['not_approved']);
  });

  test('leaves the others', () => {
    const two = set(trusted(), { 'catalog.x': 0 }, { toolset: 'catalog' });
    const one = two.takes('ToolsetRemoved', { toolset: 'skill' });
    expect(Object.keys(one.state.toolsets ?? {})).toEqual(['catalog']);
    expect(one.state.tool_registry).toHaveProperty(['catalog.x']);
  });
});

describe('a toolset is refused', () => {
  const with_ = (change: Partial<ReturnType<typeof toolsetTool>['spec']>) => {
    const { definition, spec } = toolsetTool('skill.b', 0);
    return setFields({}, { tools: [toolsetTool('skill.a', 0), { definition, spec: { ...spec, ...change } }] });
  };
  const renamed = defineTool({ ...tool('skill__a'), tool_id: 'skill.b' });

  test.each([
    ['an id of another toolset', with_({ tool_id: brand('catalog.b') }), 'registry_invalid', '/tools/1/spec/tool_id'],
    ['an id without a dot', with_({ tool_id: brand('skillb') }), 'registry_invalid', '/tools/1/spec/tool_id'],
    ['one id twice', with_({ tool_id: brand('skill.a') }), 'registry_invalid', '/tools/1/spec/tool_id'],
    ['one name twice', with_(renamed), 'registry_invalid', '/tools/1/spec/tool_name'],
    [
      'a name of the package',
      with_(defineTool({ ...tool('read'), tool_id: 'skill.b' })),
      'registry_invalid',
      '/tools/1/spec/tool_name',
    ],
    [
      'a wrong reference',
      with_({ tool_ref: toolsetTool('skill.b', 2).spec.tool_ref }),
      'registry_invalid',
      '/tools/1/spec/tool_ref',
    ],
    [
      'a workflow',
      with_({ executor: { kind: 'workflow', workflow: 'tools.find' } }),
      'registry_invalid',
      '/tools/1/spec/executor/kind',
    ],
  ])('with %s', (_what, fields, code, path) => {
    expect(session().refusal('ToolsetSet', fields)).toMatchObject({ code, path });
  });

  test('with an id that the package has', () => {
    const registry = [...testPackage().registry, tool('catalog_x', { tool_id: 'catalog.x' })];
    const of = session({ tool_package: { ...testPackage(), registry } });
    const fields = setFields({ 'catalog.x': 0 }, { toolset: 'catalog' });
    expect(of.refusal('ToolsetSet', fields)).toMatchObject({
      code: 'registry_invalid',
      path: '/tools/0/spec/tool_id',
    });
    // Another id beside it is not its business.
    expect(set(of, { 'catalog.y': 0 }, { toolset: 'catalog' }).state.tool_registry).toHaveProperty(['catalog.x']);
  });

  test('with a name of another toolset', () => {
    const tools = [{ ...toolsetTool('skill.a', 0), spec: defineTool({ ...tool('skill__a'), tool_id: 'catalog.a' }) }];
    expect(trusted().refusal('ToolsetSet', { toolset: 'catalog', owner: 'engine', tools })).toMatchObject({
      code: 'registry_invalid',
      path: '/tools/0/spec/tool_name',
    });
  });

  test('from another owner, until an operator removes it', () => {
    const fields = setFields(BOTH, { owner: 'other' });
    expect(trusted().refusal('ToolsetSet', fields)).toMatchObject({ code: 'toolset_owned', path: '/owner' });
  });

  test('beyond the toolsets and the tools that a session may have', () => {
    let of = session();
    for (let at = 0; at < limits.TOOLSETS_MAX; at += 1) of = set(of, {}, { toolset: `mcp.s${at}` });
    expect(of.refusal('ToolsetSet', setFields(BOTH))).toMatchObject({ code: 'toolsets_full', path: '/toolset' });
    expect(set(of, { 'mcp.s0.a': 0 }, { toolset: 'mcp.s0' }).state.tool_registry).toHaveProperty(['mcp.s0.a']);
    const many = (toolset: string, count = limits.TOOLSET_TOOLS_MAX) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`${toolset}.t${at}`, 0]));
    for (const at of [0, 1, 2]) of = set(of, many(`mcp.s${at}`), { toolset: `mcp.s${at}` });
    const own = testPackage().registry.length;
    const rest = limits.REGISTRY_TOOLS_MAX - 3 * limits.TOOLSET_TOOLS_MAX - own;
    const one = setFields(many('mcp.s3', rest + 1), { toolset: 'mcp.s3' });
    expect(of.refusal('ToolsetSet', one)).toMatchObject({ code: 'toolsets_full', path: '/tools' });
    const full = set(of, many('mcp.s3', rest), { toolset: 'mcp.s3' });
    expect(Object.keys(full.state.tool_registry)).toHaveLength(limits.REGISTRY_TOOLS_MAX);
    const registry = [...testPackage().registry, tool('further')];
    expect(full.refusal('ToolRegistrySet', { registry })).toMatchObject({ code: 'toolsets_full', path: '/registry' });
  });

  test.each(['mcp', 'mcp.', 'mcp.Git', 'mcp.a.b', 'skills', 'mcp.-a', `mcp.${'a'.repeat(33)}`])(
    'by the name %s',
    (name) => {
      expect(ToolsetName.is(name)).toBe(false);
    },
  );

  test.each(['mcp.g', 'mcp.git_hub-2', `mcp.${'a'.repeat(32)}`, 'skill', 'catalog'])('not by the name %s', (name) => {
    expect(ToolsetName.is(name)).toBe(true);
    expect(toolsetNamedBy(`${name}.x.y`)).toBe(name);
  });
});

describe('an approval is refused', () => {
  const digest = trusted().state.toolsets?.['skill']?.tools['skill.a'] as never;

  test('of a toolset that the session does not have', () => {
    const fields = { toolset: 'catalog', tools: {} };
    expect(trusted().refusal('ToolsetApproved', fields)).toMatchObject({ code: 'toolset_unknown', path: '/toolset' });
    expect(trusted().refusal('ToolsetRemoved', { toolset: 'catalog' })).toMatchObject({ code: 'toolset_unknown' });
  });

  test('of a tool that it does not have, even if it had it', () => {
    const gone = set(trusted(), { 'skill.b': 0 });
    expect(gone.refusal('ToolsetApproved', { toolset: 'skill', tools: { 'skill.a': digest } })).toMatchObject({
      code: 'tool_unknown',
      path: '/tools/skill.a',
    });
  });

  test('of another definition than the tool has now', () => {
    const changed = set(trusted(), { 'skill.a': 1, 'skill.b': 0 });
    expect(changed.refusal('ToolsetApproved', { toolset: 'skill', tools: { 'skill.a': digest } })).toMatchObject({
      code: 'definition_mismatch',
      path: '/tools/skill.a',
    });
  });
});

describe('a registry that is replaced', () => {
  test('keeps the tools of toolsets', () => {
    const of = trusted().takes('ToolRegistrySet', { registry: testPackage().registry.slice(0, 13) });
    expect(offeredOf(of)).toEqual(IDS);
  });

  test('may have no id of a toolset that the session has, nor a name of its tools', () => {
    const { registry } = testPackage();
    const foreign = [...registry, tool('x', { tool_id: 'skill.x' })];
    expect(trusted().refusal('ToolRegistrySet', { registry: foreign })).toMatchObject({
      code: 'registry_invalid',
      path: `/registry/${registry.length}/tool_id`,
    });
    expect(session().takes('ToolRegistrySet', { registry: foreign }).state.tool_registry).toHaveProperty(['skill.x']);
    expect(trusted().refusal('ToolRegistrySet', { registry: [...registry, tool('skill__a')] })).toMatchObject({
      code: 'registry_invalid',
      path: `/registry/${registry.length}/tool_name`,
    });
  });
});

describe('an id of a toolset is never unknown', () => {
  const ids = ['mcp.gone.x', 'skill.gone', 'catalog.gone'];

  test('in overrides, profiles and the policy, so that a source that withdraws a tool stops nothing', () => {
    let of = session();
    for (const id of ids) {
      of = of.takes('ToolOverridesSet', { scope: 'session', enable: [id], disable: [id] });
      of = of.takes('ConsentPolicySet', { policy: { ...of.state.consent.policy, tools: { [id]: 'deny' } } });
    }
    const profiles = [{ ...profileOf('all', [tool('read')]), tool_ids: ['read', ...ids] as never }];
    const { registry, provider_profiles } = testPackage();
    const set_ = of.takes('ToolRegistrySet', { registry, profiles, provider_profiles });
    expect(set_.state.effective_tools.ordered_tools.map(({ tool_id }) => tool_id)).toEqual(['read']);
    expect(set_.runRequested({}, { tools: { enable: ids, disable: [], force: ids } }).phase()).toBe('generating');
  });

  test('but every other id is', () => {
    for (const id of ['mcp.x', 'skills.a', 'mcp.GIT.x', 'other']) {
      expect(session().refusal('ToolOverridesSet', { scope: 'session', enable: [id] })).toMatchObject({
        code: 'tool_unknown',
        path: '/enable/0',
      });
    }
  });
});

describe('a call of a tool of a toolset', () => {
  const run = trusted().runRequested();
  const calling = run.observed([call('a', 'skill__a'), call('b', 'skill__b')]);
  const codes = (of: Session) => ['a', 'b'].map((id) => of.callState(id)?.code ?? null);

  test('is owed to a bridge', () => {
    const owed = calling.effects().flatMap((effect) => (effect.kind === 'tool.call' ? [effect.tool_id] : []));
    expect(owed).toEqual(IDS);
  });

  test('does not start when only what its source says of it has changed', () => {
    const changed = set(calling, { 'skill.a': 1, 'skill.b': 0 });
    expect(toolsetTool('skill.a', 1).spec).toEqual(toolsetTool('skill.a', 0).spec);
    expect(codes(changed)).toEqual(['tool_unavailable', null]);
    expect(changed.callState('a')?.output).toMatchObject({ text: expect.stringContaining('definition_changed') });
    // An approval that comes now does not bring it back.
    expect(codes(approved(changed))).toEqual(['tool_unavailable', null]);
  });

  test('does not start when the tool has gone, and neither when the toolset has', () => {
    expect(codes(set(calling, { 'skill.b': 0 }))).toEqual(['tool_unknown', null]);
    expect(codes(calling.takes('ToolsetRemoved', { toolset: 'skill' }))).toEqual(['tool_unknown', 'tool_unknown']);
  });

  test('is refused when the definition changes after the model was offered it', () => {
    const changed = set(run, { 'skill.a': 1, 'skill.b': 2 });
    expect(changed.observed([call('a', 'skill__a')]).rejections()).toEqual({ 0: 'tool_unavailable' });
    const other = approved(changed);
    expect(other.observed([call('b', 'skill__b')]).rejections()).toEqual({ 0: 'tool_not_offered' });
  });

  test('that waits for a person is refused, whatever was answered and granted before', () => {
    const asking = run.takes('ConsentPolicySet', {
      policy: { ...run.state.consent.policy, tools: { 'skill.a': 'always_ask' } },
    });
    const granted = asking.observed([call('a', 'skill__a')]).allowed('a', { grant: {} });
    expect(granted.state.consent.grants).toHaveLength(1);
    const waits = asking.observed([call('a', 'skill__a')]);
    expect(waits.callState('a')?.status).toBe('waiting');
    expect(codes(set(waits, { 'skill.a': 1, 'skill.b': 0 }))[0]).toBe('tool_unavailable');
    // The grant stays, with the same `tool_ref`, and is of no use.
    const changed = set(granted, { 'skill.a': 1, 'skill.b': 0 });
    expect(changed.state.consent.grants).toHaveLength(1);
    expect(codes(changed)[0]).toBe('tool_unavailable');
    const next = changed.batchSettled().observed([call('c', 'skill__a')]);
    expect(next.rejections()).toEqual({ 0: 'tool_unavailable' });
  });

  test('that runs goes on, and is stopped if interrupts cancel it', () => {
    const running = calling.started('a');
    const gone = set(running, {});
    expect(gone.callState('a')?.status).toBe('running');
    expect(gone.callState('b')?.code).toBe('tool_unknown');
  });
});

test('a session without toolsets has no slot for them', () => {
  const state: SessionState = session().runRequested().state;
  expect(Object.keys(state)).not.toContain('toolsets');
});
