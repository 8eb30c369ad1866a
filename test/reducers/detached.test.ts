// `interrupt_behavior: continue`: an interrupt detaches the running call, and the run does not wait for it.
import { describe, expect, test } from 'vitest';
import { DETACHED_MAX } from '../../schemas/limits.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { type Session, call, say, session } from '../support/session.ts';
import { profileOf, tool } from '../support/tools.ts';

const FREE = { parallelism_hint: { parallel_safe: true } };
const TOOLS = [
  tool('goes_on', { ...FREE, interrupt_behavior: 'continue' }),
  tool('stops', { ...FREE, interrupt_behavior: 'cancel' }),
  tool('blocks', { ...FREE, interrupt_behavior: 'block' }),
];

const opened = (...tools: readonly string[]): Session => {
  const profiles = [profileOf('all', TOOLS)];
  const tool_package = {
    registry: TOOLS,
    profiles,
    provider_profiles: [{ provider_contains: '', profile_id: profiles[0]?.profile_id as never }],
  };
  let now = session({ tool_package, consent: CONSENT_PRESETS.allow_all }).runRequested({ calls_max: 1_000_000 });
  now = now.observed(tools.map((name, index) => call(`${name}-${index}`, name, { index })));
  for (const [index, name] of tools.entries()) now = now.started(`${name}-${index}`);
  return now;
};

const redirected = (of: Session): Session =>
  of.takes('user.interrupt', { run_id: of.runId(), input: say('something else') });

const report = (of: Session) => ({
  batch_id: 'batch-1',
  plan_hash: of.plan().plan_hash,
  call_id: 'goes_on-0',
  attempt: 1,
});

describe('a call that may be detached', () => {
  const before = opened('goes_on');

  test('leaves the slots of the state in canonical order when it is detached', () => {
    const slots = Object.keys(redirected(before).state);
    expect(slots).toContain('detached');
    expect(slots).toEqual([...slots].sort());
  });

  test('the run continues at once, and the model reads that the call still runs', () => {
    const now = redirected(before);
    expect(now.phase()).toBe('generating');
    expect(now.transcript().slice(-2)).toEqual([
      expect.stringMatching(/^tool! goes_on-0 error: left_running:/),
      'user something else',
    ]);
    expect(now.state.detached).toMatchObject([
      { batch_id: 'batch-1', call_id: 'goes_on-0', attempt: 1, owner: 'bridge-1' },
    ]);
    expect(now.effectsOf('tool.cancel')).toEqual([]);
  });

  test('its report is accepted once, in any phase of the run, and the model does not read it', () => {
    const now = redirected(before);
    const settled = { ...report(before), result: { success: true }, output: say('late') };
    const after = now.takes('ToolCallSettled', settled);
    expect(after.state).not.toHaveProperty('detached');
    expect(after.transcript()).toEqual(now.transcript());
    expect(after.refusal('ToolCallSettled', settled).code).toBe('batch_not_active');
    const ended = now.answered('bye');
    expect(ended.phase()).toBe('idle');
    expect(ended.takes('ToolCallSettled', settled).state).not.toHaveProperty('detached');
  });

  test('a stale report or one under another plan is refused', () => {
    const now = redirected(before);
    const settled = { ...report(before), result: { success: true }, output: say('late') };
    expect(now.refusal('ToolCallSettled', { ...settled, attempt: 2 }).code).toBe('stale_attempt');
    const other = `sha256:${'0'.repeat(64)}`;
    expect(now.refusal('ToolCallSettled', { ...settled, plan_hash: other }).code).toBe('plan_mismatch');
    const liar = { ...settled, outcome: 'failed' } as const;
    expect(now.refusal('ToolCallSettled', liar).code).toBe('inconsistent_result');
  });

  test('a lost bridge ends it silently', () => {
    const { batch_id, call_id, attempt } = report(before);
    const now = redirected(before).takes('LeaseExpired', { batch_id, call_id, attempt });
    expect(now.state).not.toHaveProperty('detached');
  });

  test('an interrupt that ends the run detaches it too', () => {
    const now = before.interrupted();
    expect(now.phase()).toBe('idle');
    expect(now.state.detached).toHaveLength(1);
  });

  test('a cancelled run stops it like any other call', () => {
    const now = before.cancelled();
    expect(now.phase()).toBe('cancelling');
    expect(now.state).not.toHaveProperty('detached');
    expect(now.effectsOf('tool.cancel')).toHaveLength(1);
  });
});

test('the run waits only for running calls that are not detached', () => {
  const now = redirected(opened('goes_on', 'stops', 'blocks'));
  expect(now.phase()).toBe('interrupting');
  expect(now.effectsOf('tool.cancel').map(({ call_id }) => call_id)).toEqual(['stops-1']);
  const after = now.settled('stops-1', { outcome: 'cancelled' }).settled('blocks-2');
  expect(after.phase()).toBe('generating');
  expect(after.state.detached).toHaveLength(1);
});

test('at most DETACHED_MAX calls are detached; the run waits for the others', () => {
  const now = redirected(opened(...Array.from({ length: DETACHED_MAX + 2 }, () => 'goes_on')));
  expect(now.state.detached).toHaveLength(DETACHED_MAX);
  expect(now.phase()).toBe('interrupting');
  expect(now.state.active_tool_batch?.running).toBe(2);
});
