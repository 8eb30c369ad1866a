// The verification matrix (AOS P7, "Verification Matrix"), item by item, on the public API and with the default tool
// package.
import { describe, expect, test } from 'vitest';
import {
  computeEffectiveTools,
  defaultGenesis,
  effects,
  explain,
  initialState,
  planBatch,
  replay,
  stateBytes,
  stateDigest,
} from '../../src/core/index.ts';
import { defaultToolPackage, permissionTools } from '../../src/index.ts';
import { call, fold, session } from '../support/session.ts';
import { mustBe } from '../../src/client/must.ts';

const real = (): ReturnType<typeof session> => session({ tool_package: defaultToolPackage() });

/** The workflow tools; they need no host. */
const WORKFLOW_TOOLS = permissionTools().map(({ tool_name }): string => tool_name);
/** The host tools of the default profile, but for the one that opens the host session. */
const HOST_BOUND = defaultToolPackage()
  .registry.filter(({ tool_id }) => /^host\.(?!session\.open$|fs\.edit_file$)/.test(tool_id))
  .map(({ tool_name }): string => tool_name);

describe('1. no active host session', () => {
  test('no host tool for files or commands is effective, but open_session is', () => {
    expect(real().toolNames()).toEqual(['open_session', ...WORKFLOW_TOOLS]);
  });

  test('explain reports why', () => {
    const rows = explain(real().state).filter((row) => row.reasons.includes('host_session_not_ready'));
    expect(rows.map((row) => row.tool_name).sort()).toEqual([...HOST_BOUND, 'edit_file'].sort());
    expect(rows.every((row) => !row.effective)).toBe(true);
  });
});

describe('2. the host session becomes ready', () => {
  test('host tools become effective, the same each time, in profile order', () => {
    const once = real().hostReady().toolNames();
    expect(once.toSorted()).toEqual(['open_session', ...WORKFLOW_TOOLS, ...HOST_BOUND].sort());
    expect(real().hostReady().toolNames()).toEqual(once);
  });
});

describe('3. the host session closes or expires', () => {
  test.each(['closed', 'expired', 'error'] as const)(
    '%s: host tools are not effective at the next computation',
    (status) => {
      const after = real().hostReady().host({ host_session_status: status });
      expect(after.toolNames()).toEqual(['open_session', ...WORKFLOW_TOOLS]);
    },
  );
});

describe('4. parallel planning', () => {
  const tools = real().hostReady().state.effective_tools;
  const groups = (...calls: Parameters<typeof call>[]): readonly (readonly string[])[] =>
    planBatch(
      tools,
      calls.map((made) => call(...made)),
    ).execution_plan.groups;

  test('calls that do not conflict share a group', () => {
    expect(
      groups(
        ['a', 'read_file', { path: 'x' }],
        ['b', 'write_file', { path: 'y', text: '' }],
        ['c', 'exists', { path: 'z' }],
      ),
    ).toEqual([['a', 'b', 'c']]);
  });

  test('conflicting calls are serialised as observed', () => {
    expect(
      groups(
        ['a', 'write_file', { path: 'x', text: '' }],
        ['b', 'read_file', { path: './x' }],
        ['c', 'write_file', { path: 'y/../x', text: '' }],
      ),
    ).toEqual([['a'], ['b'], ['c']]);
  });

  test('a call that is not parallel-safe is alone in its group and separates the calls around it', () => {
    expect(
      groups(['a', 'read_file', { path: 'x' }], ['b', 'shell', { argv: ['true'] }], ['c', 'read_file', { path: 'x' }]),
    ).toEqual([['a'], ['b'], ['c']]);
  });
});

describe('5. provider profiles', () => {
  const profileOf = (provider: string) => {
    const input = { ...real().hostReady().state, run: { config: { provider, model: 'm', tool_profile: null } } };
    const tools = mustBe(computeEffectiveTools(input));
    return {
      profile: tools.profile_id,
      tools: tools.ordered_tools.map((tool) => tool.tool_name as string),
    };
  };

  test.each([
    ['openai', 'openai', 'apply_patch', 'edit_file'],
    ['azure-openai', 'openai', 'apply_patch', 'edit_file'],
    ['anthropic', 'anthropic', 'edit_file', 'apply_patch'],
    ['Anthropic/Claude', 'anthropic', 'edit_file', 'apply_patch'],
    ['gemini', 'gemini', 'edit_file', 'apply_patch'],
    ['some-new-one', 'openai', 'apply_patch', 'edit_file'],
  ])('%s gets the profile %s: %s and not %s', (provider, profile, has, hasNot) => {
    const found = profileOf(provider);
    expect(found.profile).toBe(profile);
    expect(found.tools).toContain(has);
    expect(found.tools).not.toContain(hasNot);
  });

  test('a run of another provider gets the profile of that provider', () => {
    const run = real().hostReady().runRequested({ provider: 'anthropic', model: 'm' });
    expect(run.effectsOf('llm.generate')[0]?.tools.map((tool) => tool.tool_name)).toContain('edit_file');
  });
});

describe('6. install-time preload', () => {
  test('the first run of a fresh session owes a generate, without any set-up event', () => {
    const run = real().runRequested();
    expect(run.effects().map((effect) => effect.kind)).toEqual(['llm.generate']);
    expect(run.events).toHaveLength(1);
  });

  test('the default genesis is always equal, and pins its tool package', () => {
    expect(stateDigest(initialState(defaultGenesis()))).toBe(stateDigest(initialState(defaultGenesis())));
    expect(defaultGenesis().tool_package_digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  });
});

describe('7. replay', () => {
  const recorded = real()
    .runRequested()
    .observed([call('o', 'open_session'), call('n', 'no_such_tool')])
    .settled('o', { host_session: { host_session_id: 'h', host_session_status: 'ready' } })
    .batchSettled()
    .observed([call('r', 'read_file', { path: 'a' }), call('w', 'write_file', { path: 'a', text: 'b' })])
    .settled('r', { success: false, code: 'not_found' })
    .settled('w')
    .batchSettled()
    .answered('done');

  test('the same stream gives a byte-identical SessionState', () => {
    const again = fold(recorded, JSON.parse(JSON.stringify(recorded.events)) as never);
    expect(stateBytes(again)).toEqual(stateBytes(recorded.state));
    expect(effects(again)).toEqual(effects(recorded.state));
  });

  test('a stream without its genesis record is refused', () => {
    expect(replay([])).toMatchObject({ divergence: { position: -1, what: 'record' } });
  });
});
