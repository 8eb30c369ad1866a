// Effective tools: precedence, overrides, availability, order, reasons (AOS P7, "Effective Tool Computation").
import { describe, expect, test } from 'vitest';
import { type ToolVerdict, brand, toolRef } from '../../schemas/index.ts';
import { explain } from '../../src/core/index.ts';
import { describeProfile } from '../../src/core/explain-tools.ts';
import { type Session, session } from '../support/session.ts';
import { FREE, HOSTED, READ, SPARE, WRITE, profileOf, testPackage, tool } from '../support/tools.ts';

const EMPTY = { enable: [], disable: [], force: [] };

const reasonsOf = (of: Session, name: string): ToolVerdict['reasons'] =>
  explain(of.state).find((row) => row.tool_name === name)?.reasons ?? [];

describe('profile precedence', () => {
  const profiled = session({
    tool_package: {
      ...testPackage(),
      profiles: [
        ...testPackage().profiles,
        profileOf('selected', [READ]),
        profileOf('of-session', [WRITE]),
        profileOf('of-run', [FREE]),
      ],
    },
  });
  const profileNow = (of: Session): string => of.state.effective_tools.profile_id;

  test('without another choice the provider decides', () => {
    expect(profileNow(profiled)).toBe('all');
  });

  test('the first default wins whose provider and model both match, whatever their case', () => {
    const modelled = session({
      tool_package: {
        ...testPackage(),
        profiles: [...testPackage().profiles, profileOf('theirs', [READ]), profileOf('late', [WRITE])],
        provider_profiles: [
          { provider_contains: 'host', model_contains: 'claude', profile_id: brand('theirs') },
          { provider_contains: '', model_contains: 'claude', profile_id: brand('late') },
          { provider_contains: '', profile_id: brand('all') },
        ],
      },
    });
    const chosen = (provider: string, model: string): string => profileNow(modelled.runRequested({ provider, model }));
    expect(chosen('My-Host', 'vendor/Claude-9')).toBe('theirs');
    expect(chosen('my-host', 'other')).toBe('all');
    expect(chosen('elsewhere', 'claude-9')).toBe('late');
    const run = modelled.runRequested({ provider: 'my-host', model: 'claude-9' });
    expect(profileNow(run.answered('done'))).toBe('all');
    expect(describeProfile(run.state)).toContain('the model "claude-9"');
    expect(profileNow(modelled.takes('SessionConfigured', { config: { model: 'claude' } }))).toBe('late');
  });

  test('the selected profile wins over the provider', () => {
    expect(profileNow(profiled.takes('ToolProfileSelected', { profile_id: 'selected' }))).toBe('selected');
  });

  test('the session config wins over the selected profile', () => {
    const configured = profiled
      .takes('ToolProfileSelected', { profile_id: 'selected' })
      .takes('SessionConfigured', { config: { tool_profile: 'of-session' } });
    expect(profileNow(configured)).toBe('of-session');
  });

  test('the run config wins over the session config, and ends with the run', () => {
    const run = profiled
      .takes('SessionConfigured', { config: { tool_profile: 'of-session' } })
      .runRequested({ tool_profile: 'of-run' });
    expect(profileNow(run)).toBe('of-run');
    expect(profileNow(run.answered('done'))).toBe('of-session');
  });

  test('an unknown profile is refused', () => {
    expect(profiled.refusal('ToolProfileSelected', { profile_id: 'nope' })).toMatchObject({
      code: 'profile_unknown',
      path: '/profile_id',
    });
    expect(
      profiled.refusal('RunRequested', { input: { text: 'go' }, run_overrides: { tool_profile: 'nope' } }),
    ).toMatchObject({ code: 'profile_unknown' });
    expect(profiled.refusal('SessionConfigured', { config: { tool_profile: 'nope' } })).toMatchObject({
      code: 'profile_unknown',
    });
  });

  test('a selected profile is checked even while the config overrides it', () => {
    const configured = profiled.takes('SessionConfigured', { config: { tool_profile: 'of-session' } });
    expect(configured.refusal('ToolProfileSelected', { profile_id: 'nope' })).toMatchObject({
      code: 'profile_unknown',
    });
  });
});

describe('overrides', () => {
  const few = session({ config: { tool_profile: profileOf('few', []).profile_id } });
  const set = (
    of: Session,
    scope: 'session' | 'run',
    lists: Partial<Record<'enable' | 'disable' | 'force', readonly string[]>>,
  ): Session => of.takes('ToolOverridesSet', { scope, ...lists });

  test('the order is the profile, then extras by tool id', () => {
    expect(few.toolIds()).toEqual(['write', 'read']);
    expect(set(few, 'session', { enable: ['spare', 'once'], force: ['free'] }).toolIds()).toEqual([
      'write',
      'read',
      'free',
      'once',
      'spare',
    ]);
  });

  test('a tool in several lists appears once', () => {
    expect(set(few, 'session', { enable: ['read', 'spare'], force: ['spare'] }).toolIds()).toEqual([
      'write',
      'read',
      'spare',
    ]);
  });

  test.each([
    ['session', 'session'],
    ['session', 'run'],
    ['run', 'session'],
    ['run', 'run'],
  ] as const)('disable at %s scope wins over enable and force at %s scope', (denying, allowing) => {
    let run = few.runRequested();
    run = set(run, allowing, { enable: ['spare'], force: ['spare'] });
    const lists = denying === allowing ? { enable: ['spare'], force: ['spare'] } : {};
    run = set(run, denying, { ...lists, disable: ['spare'] });
    expect(run.toolIds()).not.toContain('spare');
    expect(reasonsOf(run, 'spare')).toContain(`disabled_by_${denying}`);
  });

  test('disable takes a tool that runs the disabled one under its own name, too', () => {
    const alias = tool('alias', { executor: { kind: 'effect', effect_kind: 'spare' } });
    const { registry, ...rest } = testPackage();
    const aliased = session({
      tool_package: { ...rest, registry: [...registry, alias], profiles: [profileOf('all', [READ, SPARE, alias])] },
    });
    expect(aliased.toolIds()).toEqual(['read', 'spare', 'alias']);
    const run = set(aliased.runRequested(), 'run', { disable: ['spare'], force: ['alias'] });
    expect(run.toolIds()).toEqual(['read']);
    expect(reasonsOf(run, 'alias')).toContain('disabled_by_run');
    expect(set(aliased, 'session', { disable: ['alias'] }).toolIds()).toEqual(['read', 'spare']);
  });

  test('force does not make an unavailable tool available', () => {
    const forced = set(few, 'session', { force: ['hosted'] });
    expect(forced.toolIds()).not.toContain('hosted');
    expect(reasonsOf(forced, 'hosted')).toEqual(['forced_by_session', 'host_session_not_ready']);
    expect(forced.hostReady().toolIds()).toContain('hosted');
  });

  test('each event replaces all lists of its scope only', () => {
    const first = set(set(few, 'session', { enable: ['spare'], disable: ['read'] }).runRequested(), 'run', {
      disable: ['write'],
    });
    const second = set(first, 'session', { force: ['free'] });
    expect(second.state.tool_overrides).toEqual({
      session: { ...EMPTY, force: ['free'] },
      run: { ...EMPTY, disable: ['write'] },
    });
  });

  test('run overrides require a run, take effect at once, and end with the run', () => {
    expect(few.refusal('ToolOverridesSet', { scope: 'run', disable: ['read'] })).toMatchObject({
      code: 'run_not_active',
      path: '/scope',
    });
    const run = set(few.runRequested(), 'run', { disable: ['read'] });
    expect(run.toolIds()).toEqual(['write']);
    expect(run.answered('done').toolIds()).toEqual(['write', 'read']);
    expect(run.answered('done').state.tool_overrides.run).toEqual(EMPTY);
  });

  test('a run may override the session config field by field, and the tools', () => {
    const run = few.runRequested({ model: 'another' }, { tools: { ...EMPTY, enable: ['spare'] } });
    expect(run.toolIds()).toEqual(['write', 'read', 'spare']);
    expect(run.state.run?.config).toEqual({ ...few.state.config, model: 'another' });
  });

  test.each(['enable', 'disable', 'force'] as const)(
    'an unknown id in %s is refused before anything changes',
    (list) => {
      expect(few.refusal('ToolOverridesSet', { scope: 'session', [list]: ['read', 'nope'] })).toMatchObject({
        code: 'tool_unknown',
        path: `/${list}/1`,
      });
    },
  );
});

describe('availability', () => {
  const capable = session({
    tool_package: {
      registry: [
        tool('net', { availability_rules: ['capability:net', 'host_session_ready'] }),
        tool('opener', { availability_rules: ['host_session_not_ready'] }),
        tool('always', { availability_rules: ['always'] }),
      ],
      profiles: [profileOf('all', [tool('net'), tool('opener'), tool('always')])],
      provider_profiles: testPackage().provider_profiles,
    },
  });

  test('all rules of a tool must hold', () => {
    expect(capable.toolNames()).toEqual(['opener', 'always']);
    expect(reasonsOf(capable, 'net')).toEqual(['in_profile', 'capability_missing', 'host_session_not_ready']);
    expect(capable.hostReady().toolNames()).toEqual(['always']);
    const netted = capable.host({ host_session_status: 'ready', capabilities: ['net', 'gpu', 'net'] });
    expect(netted.toolNames()).toEqual(['net', 'always']);
    expect(netted.state.tool_runtime_context.capabilities).toEqual(['gpu', 'net']);
  });
});

describe('when the registry is replaced', () => {
  const base = session();
  const replaced = [READ, WRITE, SPARE];
  const profiles = [profileOf('all', replaced), profileOf('few', [READ])];

  test('the new tools are effective at once', () => {
    expect(base.takes('ToolRegistrySet', { registry: replaced, profiles }).toolIds()).toEqual([
      'read',
      'write',
      'spare',
    ]);
  });

  test.each([
    ['two tools of one id', { registry: [READ, { ...WRITE, tool_id: 'read' }], profiles }, '/registry/1/tool_id'],
    [
      'two tools of one name',
      {
        registry: [READ, { ...WRITE, tool_name: 'read', tool_ref: toolRef({ ...WRITE, tool_name: READ.tool_name }) }],
        profiles,
      },
      '/registry/1/tool_name',
    ],
    [
      'a tool_ref that is not the definition’s',
      { registry: [{ ...READ, description: 'changed' }], profiles },
      '/registry/0/tool_ref',
    ],
    ['a profile with an unregistered tool', { registry: [READ], profiles }, '/profiles/0/tool_ids/1'],
    ['stale profiles, when none are given', { registry: [READ] }, '/profiles/0/tool_ids/1'],
    ['two profiles of one id', { registry: replaced, profiles: [profiles[0], profiles[0]] }, '/profiles/1/profile_id'],
    [
      'a provider default that does not exist',
      { registry: replaced, profiles: [profileOf('few', [READ])] },
      '/provider_profiles/0/profile_id',
    ],
  ])('%s is refused with its path', (_, fields, path) => {
    expect(base.refusal('ToolRegistrySet', fields as never)).toMatchObject({ code: 'registry_invalid', path });
  });

  test('it is refused when an override would name an unknown tool', () => {
    const overridden = base.takes('ToolOverridesSet', { scope: 'session', enable: ['free'] });
    expect(overridden.refusal('ToolRegistrySet', { registry: replaced, profiles })).toMatchObject({
      code: 'tool_unknown',
      path: '/enable/0',
    });
  });

  test('tools named like inherited object properties are ordinary tools', () => {
    const odd = ['constructor', 'toString', 'hasOwnProperty'].map((name) => tool(name));
    const named = base.takes('ToolRegistrySet', { registry: odd, profiles: [profileOf('all', odd)] });
    expect(named.toolIds()).toEqual(['constructor', 'toString', 'hasOwnProperty']);
    expect(base.refusal('ToolOverridesSet', { scope: 'session', enable: ['constructor'] })).toMatchObject({
      code: 'tool_unknown',
    });
  });
});

describe('recomputation', () => {
  test('happens only when an input has changed', () => {
    const run = session().runRequested();
    const tools = run.state.effective_tools;
    expect(run.steered('hi').state.effective_tools).toBe(tools);
    expect(run.observed([]).state.effective_tools).toEqual(tools);
    expect(run.hostReady().state.effective_tools).not.toEqual(tools);
  });

  test('the offer of a turn is unchanged when tools change during the generate', () => {
    const run = session().runRequested();
    const changed = run.hostReady();
    expect(changed.state.run?.offer).toEqual(run.state.run?.offer);
    expect(changed.toolIds()).toContain(HOSTED.tool_id);
    expect(changed.observed([{ call_id: 'a', tool_name: 'hosted', arguments: {} } as never]).rejections()).toEqual({
      0: 'tool_not_offered',
    });
  });

  test('a tool that became unavailable between offer and call is rejected', () => {
    const run = session().hostReady().runRequested();
    const gone = run.host({ host_session_status: 'closed' });
    expect(gone.observed([{ call_id: 'a', tool_name: 'hosted', arguments: {} } as never]).rejections()).toEqual({
      0: 'tool_unavailable',
    });
  });
});
