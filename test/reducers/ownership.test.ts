// Ownership routes a call (openboa, "Ownership"): a person fulfils the calls of a custom tool with any executor.
import { expect, test } from 'vitest';
import type { ToolSpec } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { type Session, call, session } from '../support/session.ts';
import { profileOf, tool } from '../support/tools.ts';

const FREE = { parallelism_hint: { parallel_safe: true } };

function calling(spec: ToolSpec): Session {
  const profile = profileOf('all', [spec]);
  const provider_profiles = [{ provider_contains: '', profile_id: profile.profile_id }];
  const tool_package = { registry: [spec], profiles: [profile], provider_profiles };
  return session({ tool_package, consent: CONSENT_PRESETS.default })
    .runRequested()
    .observed([call('a', spec.tool_name)]);
}

test.each([
  ['custom', 'agent.custom_tool_use'],
  ['managed', 'tool.call'],
  ['mcp', 'tool.call'],
] as const)('a call of a tool with the ownership %s owes %s', (ownership, kind) => {
  const executor = { kind: 'effect', effect_kind: 'some.effect' } as const;
  const now = calling(
    tool('t', { ...FREE, ownership, executor, mode: 'external', destructive: ownership === 'custom' }),
  );
  expect(now.effects().map((effect) => effect.kind)).toEqual([kind]);
});
