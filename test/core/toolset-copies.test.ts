// What a copy of a session keeps of its toolsets: an import nothing, because what was approved elsewhere counts there.
import { expect, test } from 'vitest';
import { endImport } from '../../src/core/copies/end-import.ts';
import { mustBe } from '../../src/client/must.ts';
import { toolsetTool } from '../../src/testing/toolset-facts.ts';
import { ZERO_DIGEST, call, session } from '../support/session.ts';

const tools = ['skill.a', 'skill.b'].map((id) => toolsetTool(id, 0));

test('an import forgets toolsets and what was approved of them, and keeps what was denied', () => {
  const of = session()
    .takes('ToolsetSet', { toolset: 'skill', owner: 'engine', tools, trust: 'first' })
    .takes('ConsentPolicySet', {
      policy: {
        ...session().state.consent.policy,
        tools: { 'skill.a': 'deny', 'skill.b': 'always_allow', 'mcp.gone.x': 'always_ask' },
      },
    })
    .runRequested()
    .observed([call('b', 'skill__b')]);
  const { state } = mustBe(endImport(of.state, ZERO_DIGEST as never, 9_000_000));
  expect(state).not.toHaveProperty('toolsets');
  expect(Object.keys(state.tool_registry).filter((id) => id.startsWith('skill.'))).toEqual([]);
  expect(state.active_tool_batch?.pages.flat().map(({ status }) => status) ?? []).not.toContain('queued');
  expect(state.consent.policy.tools).toMatchObject({ 'skill.a': 'deny', 'mcp.gone.x': 'always_ask' });
  expect(state.consent.policy.tools).not.toHaveProperty(['skill.b']);
});

test('an import of a session without toolsets records nothing of them', () => {
  const { commits } = mustBe(endImport(session().state, ZERO_DIGEST as never, 9_000_000));
  const kinds = commits.flatMap(({ events }) => events.map(({ kind }) => kind));
  expect(kinds).not.toContain('ToolsetRemoved');
});
