// Deny wins at the start, not only at planning (docs/design.md, law 6): a call that has not started is judged again whenever
// what is allowed changes.
import { describe, expect, test } from 'vitest';
import type { ConsentPolicy, HostSessionFacts, ToolSpec } from '../../schemas/index.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { CONSENT_TOOLS, asking, calling, owed, policyOf, statuses } from '../support/consent.ts';
import { type Session, call, session } from '../support/session.ts';
import { FREE, READ, testPackage, tool } from '../support/tools.ts';

/** Only it reads, in the sense of a policy. */
const LOOK = tool('look', { ...READ, tool_id: 'look', tool_name: 'look', mode: 'read' });
const LOOKING = [...CONSENT_TOOLS, LOOK];

const underPolicy = (of: Session, policy: ConsentPolicy): Session => of.takes('ConsentPolicySet', { policy });
const readOnly = (of: Session): Session => underPolicy(of, CONSENT_PRESETS.read_only);
const resultOf = (of: Session, id: string) => {
  const { status, code, output } = of.callState(id) ?? {};
  return { status, code, text: output !== null && output !== undefined && 'text' in output ? output.text : null };
};

describe('a policy that denies', () => {
  const run = calling(
    asking({}, {}, LOOKING),
    call('q', 'asks_write', { path: 'a' }),
    call('next', 'write', { path: 'a' }),
    call('look', 'look', { path: 'b' }),
    call('by-hand', 'person'),
  );

  test('settles what waits for a person, for other calls and for an application at once, and nothing else', () => {
    const braked = readOnly(run);
    expect(statuses(braked)).toEqual(['rejected', 'rejected', 'queued', 'rejected']);
    expect(owed(braked)).toEqual(['tool.call look']);
    expect(resultOf(braked, 'q')).toMatchObject({
      code: 'permission_denied',
      text: expect.stringContaining('The policy of this session denies the tool "asks_write" (mode_denies)'),
    });
    expect(braked.plan()).toEqual(run.plan());
    expect(braked.settled('look').batchSettled().phase()).toBe('generating');
  });

  test('settles the batch when nothing else is open', () => {
    const braked = readOnly(calling(asking(), call('q', 'asks')));
    expect(owed(braked)).toEqual(['batch.settle']);
    expect(braked.batchSettled().transcript().at(-1)).toMatch(/^tool! q error: permission_denied: /);
  });

  test('refuses every later report and answer, and says why', () => {
    const braked = readOnly(run);
    expect(braked.refusal('user.tool_confirmation', { ...run.answerFields('q'), result: 'allow' })).toMatchObject({
      code: 'not_confirmable',
      message: expect.stringMatching(/^the call is rejected, not waiting \(error: permission_denied: .*mode_denies/),
    });
    expect(braked.refusal('ToolCallStarted', { ...run.callFields('next'), owner: 'b' })).toMatchObject({
      code: 'call_already_settled',
      message: expect.stringContaining('permission_denied'),
    });
    expect(braked.refusal('ToolCallSettled', run.settlementFields('next')).code).toBe('call_already_settled');
    const output = { text: 'done' };
    const fulfilled = { ...run.answerFields('by-hand'), result: { success: true }, output };
    expect(braked.refusal('user.custom_tool_result', fulfilled).code).toBe('call_already_settled');
  });

  test('is told to a paused run too, and to one that asks no one', () => {
    expect(statuses(readOnly(run.paused()))).toEqual(['rejected', 'rejected', 'queued', 'rejected']);
    expect(statuses(readOnly(calling(asking(), call('a', 'write'))))).toEqual(['rejected']);
  });

  test('also settles calls that share the result of one that it settles', () => {
    const sharing = calling(
      asking({}, { share_reads: true }),
      call('first', 'person_looks', { at: 1 }),
      call('same', 'person_looks', { at: 1 }),
    );
    expect(sharing.plan().planned_calls[1]?.shares).toBe('first');
    const denied = underPolicy(sharing, policyOf({ tools: { person_looks: 'deny' } as never }));
    expect(statuses(denied)).toEqual(['rejected', 'rejected']);
  });

  test('does not change a call that it allows, nor how often it is asked again', () => {
    const same = underPolicy(run, policyOf());
    expect(statuses(same)).toEqual(statuses(run));
    expect(underPolicy(same, policyOf()).state.active_tool_batch).toEqual(same.state.active_tool_batch);
  });
});

describe('a running call that is denied', () => {
  const run = calling(asking(), call('stops', 'once'), call('blocks', 'write', { path: 'a' }), call('waits', 'once'));

  test('is asked to stop when its tool is cancelled by interrupts, and reports how it ended', () => {
    const braked = readOnly(run.started('stops').started('blocks'));
    expect(statuses(braked)).toEqual(['running', 'running', 'rejected']);
    expect(braked.effectsOf('tool.cancel')).toMatchObject([{ call_id: 'stops', attempt: 1, run_ends: false }]);
    expect(owed(braked)).toEqual(['tool.cancel stops', 'tool.call stops', 'tool.call blocks']);
    const ended = braked.settled('stops', { outcome: 'cancelled' }).settled('blocks');
    expect(statuses(ended)).toEqual(['cancelled', 'succeeded', 'rejected']);
    expect(owed(ended)).toEqual(['batch.settle']);
  });

  test('is asked once, in a pause too, and is not asked again about its next attempt', () => {
    const braked = readOnly(run.started('stops').paused());
    expect(braked.effectsOf('tool.cancel')).toHaveLength(1);
    expect(readOnly(braked).effectsOf('tool.cancel')).toHaveLength(1);
  });

  const retried = calling(
    asking({}, { retry: { attempts_max: 3, base_ms: 100, cap_ms: 100 } }),
    call('f', 'free'),
  ).started('f');

  test('is not tried again, and the model reads that it was tried', () => {
    const failing = { success: false, outcome: 'failed' as const };
    const braked = readOnly(retried);
    const failed = braked.takes('ToolCallSettled', { ...braked.settlementFields('f', failing), retryable: true });
    for (const ended of [failed, braked.leaseExpired('f')]) {
      expect(resultOf(ended, 'f')).toMatchObject({
        status: 'rejected',
        code: 'permission_denied',
        text: expect.stringContaining('An earlier attempt of this call was made'),
      });
      expect(owed(ended)).toEqual(['batch.settle']);
    }
  });

  test('is settled while it waits for its next attempt', () => {
    const failing = { success: false, outcome: 'failed' as const };
    const waits = retried.takes('ToolCallSettled', { ...retried.settlementFields('f', failing), retryable: true });
    expect(owed(waits)).toEqual(['wake']);
    expect(owed(readOnly(waits))).toEqual(['batch.settle']);
  });
});

describe('a policy that asks about a call that had no question', () => {
  const asksAll = CONSENT_PRESETS.careful;
  const run = calling(asking(), call('w', 'write', { path: 'a' }), call('r', 'read', { path: 'b' }));

  test('has it wait for a person, with the reasons of the new policy', () => {
    const asked = underPolicy(run, asksAll);
    expect(statuses(asked)).toEqual(['waiting', 'waiting']);
    expect(asked.effectsOf('agent.tool_use')[0]).toMatchObject({
      call_id: 'w',
      consent: { ask: 'person', reasons: ['mode_asks'] },
    });
    expect(asked.refusal('ToolCallStarted', { ...run.callFields('w'), owner: 'b' }).code).toBe('waits_for_person');
    const allowed = asked.allowed('w').denied('r');
    expect(owed(allowed)).toEqual(['tool.call w']);
    expect(allowed.settled('w').batchSettled().phase()).toBe('generating');
  });

  test('bounds the time of the question, and returns the time to fulfil the call with the answer', () => {
    const timed = calling(asking(), call('t', 'timed_person', { path: 'a' }));
    const asked = underPolicy(timed, { ...asksAll, approval_ttl_ms: 1_000 });
    const [question] = asked.effectsOf('agent.tool_use');
    expect(question?.due_at_ms).toBe(asked.state.updated_at_ms + 1_000);
    const due_at_ms = asked.state.updated_at_ms + 1_000;
    expect(resultOf(asked.takes('TimeReached', { due_at_ms }), 't').code).toBe('approval_expired');
    const allowed = asked.allowed('t');
    expect(allowed.effectsOf('agent.custom_tool_use')[0]?.due_at_ms).toBe(allowed.state.updated_at_ms + 10_000);
  });

  test('does not ask again about a call that a person allowed, nor about one that runs', () => {
    const allowed = calling(asking(), call('q', 'asks'), call('w', 'write', { path: 'a' }))
      .allowed('q')
      .started('w');
    expect(statuses(underPolicy(allowed, asksAll))).toEqual(['queued', 'running']);
  });

  test('asks again about a call that only a revoked grant allowed', () => {
    const granted = calling(asking(), call('q', 'asks'), call('too', 'asks')).allowed('q', { grant: {} });
    expect(statuses(granted)).toEqual(['queued', 'queued']);
    expect(statuses(underPolicy(granted, policyOf()))).toEqual(['queued', 'waiting']);
  });

  test('keeps the time of the next attempt behind the answer', () => {
    const config = { retry: { attempts_max: 3, base_ms: 60_000, cap_ms: 60_000 } };
    const started = calling(asking({}, config), call('f', 'free')).started('f');
    const failing = started.settlementFields('f', { success: false, outcome: 'failed' });
    const waits = started.takes('ToolCallSettled', { ...failing, retryable: true });
    const { not_before_ms } = waits.callState('f') ?? {};
    const asked = underPolicy(waits, asksAll);
    expect(owed(asked)).toEqual(['agent.tool_use f']);
    const allowed = asked.allowed('f');
    expect(allowed.callState('f')?.not_before_ms).toBe(not_before_ms);
    expect(owed(allowed)).toEqual(['wake']);
    expect(owed(allowed.takes('TimeReached', { due_at_ms: not_before_ms ?? 0 }))).toEqual(['tool.call f']);
  });
});

describe('a tool that is withdrawn', () => {
  const hosted = session({ tool_package: testPackage() }).hostReady();
  const run = calling(hosted, call('h', 'hosted'), call('f', 'free'), call('w', 'write', { path: 'a' }));
  const codes = (of: Session) => ['h', 'f', 'w'].map((id) => of.callState(id)?.code ?? null);

  test('by an override, a closed host session, a profile, the registry or its expiry', () => {
    const disable = ['free'];
    expect(codes(run.takes('ToolOverridesSet', { scope: 'session', disable }))).toEqual([null, 'tool_disabled', null]);
    expect(codes(run.takes('ToolOverridesSet', { scope: 'run', disable }))).toEqual([null, 'tool_disabled', null]);
    expect(codes(run.host({ host_session_status: 'closed' }))).toEqual(['tool_unavailable', null, null]);
    expect(codes(run.takes('ToolProfileSelected', { profile_id: 'few' }))).toEqual([
      'tool_not_offered',
      'tool_not_offered',
      null,
    ]);
    const few = run.takes('SessionConfigured', { config: { tool_profile: 'few' } });
    expect(codes(few)).toEqual(codes(run.takes('ToolProfileSelected', { profile_id: 'few' })));
    const { registry, profiles, provider_profiles } = testPackage();
    const left = registry.filter(({ tool_id }) => tool_id !== 'free');
    const without = profiles.map((profile) => ({
      ...profile,
      tool_ids: profile.tool_ids.filter((id) => id !== 'free'),
    }));
    const gone = run.takes('ToolRegistrySet', { registry: left, profiles: without, provider_profiles });
    expect(codes(gone)).toEqual([null, 'tool_unknown', null]);
    const expiring = run.host({ host_session_status: 'ready', expires_at_ms: 5_000_000_000_000 } as never);
    expect(codes(expiring.takes('TimeReached', { due_at_ms: 5_000_000_000_000 }))).toEqual([
      'tool_unavailable',
      null,
      null,
    ]);
  });

  test('by another call of its batch that closes the host session', () => {
    const closed = run.settled('f', { host_session: { host_session_status: 'closed' } });
    expect(codes(closed)).toEqual(['tool_unavailable', null, null]);
  });

  const redefined = (changed: Partial<Parameters<typeof tool>[1]>): ToolSpec[] =>
    testPackage().registry.map((spec) =>
      spec.tool_id === 'free' ? tool('free', { ...FREE_FIELDS, ...changed }) : spec,
    );
  const FREE_FIELDS = { parallelism_hint: FREE.parallelism_hint, idempotent: true };

  test.each([
    ['another definition', { description: 'Something else.' }],
    ['another executor', { executor: { kind: 'mcp' as const, server: 's', tool: 't' } }],
    ['an application that fulfils it', { ownership: 'custom' as const }],
    ['no longer changing nothing', { read_only: true }],
  ])('by %s: it is another tool', (_what, changed) => {
    const { profiles, provider_profiles } = testPackage();
    const other = run.takes('ToolRegistrySet', { registry: redefined(changed), profiles, provider_profiles });
    expect(codes(other)).toEqual([null, 'tool_not_offered', null]);
    expect(resultOf(other, 'f').text).toContain('was not offered with its present definition');
  });

  test('is not withdrawn by a registry that says the same of it', () => {
    const { profiles, provider_profiles } = testPackage();
    const same = run.takes('ToolRegistrySet', { registry: redefined({}), profiles, provider_profiles });
    expect(statuses(same)).toEqual(statuses(run));
  });

  test('has no amended call of its old definition', () => {
    const amended = calling(asking(), call('q', 'asks')).denied('q', { instead: call('q2', 'asks', { x: 1 }) });
    const registry = CONSENT_TOOLS.map((spec) =>
      spec.tool_id === 'asks' ? tool('asks', { permission_policy: 'always_ask', description: 'Other.' }) : spec,
    );
    const other = amended.takes('ToolRegistrySet', { registry }).batchSettled();
    expect(other.rejections()).toEqual({ 0: 'tool_not_offered' });
  });
});

describe('a call that was approved with changes and is not made yet', () => {
  const place = (workspace: string): HostSessionFacts => ({ host_session_status: 'ready', workspace });
  const [changed, kept] = [call('b2', 'asks', { x: 2 }), call('a2', 'asks', { x: 1 })];
  const first = calling(asking(), call('a', 'asks'), call('b', 'asks'))
    .host(place('/here'))
    .denied('a', { instead: kept });

  test('is made without a question in the place where it was approved', () => {
    const made = first.host(place('/here')).denied('b', { instead: changed }).batchSettled();
    expect(statuses(made)).toEqual(['queued', 'queued']);
  });

  test('asks again in another place, as long as a move may happen', () => {
    const between = first.host(place('/there')).denied('b', { instead: changed });
    expect(statuses(between.batchSettled())).toEqual(['waiting', 'queued']);
    expect(statuses(between.host(place('/elsewhere')).batchSettled())).toEqual(['waiting', 'waiting']);
    const later = between.batchSettled().host(place('/elsewhere'));
    expect(statuses(later)).toEqual(['waiting', 'waiting']);
    expect(between.batchSettled().state.run).not.toHaveProperty('amended_elsewhere');
  });
});

test('a run that is ending waits for its running calls, whatever is denied', () => {
  const ending = calling(asking(), call('w', 'write', { path: 'a' }), call('o', 'once'))
    .started('w')
    .interrupted();
  const braked = readOnly(ending);
  expect([statuses(braked), braked.phase()]).toEqual([['running', 'cancelled'], 'interrupting']);
  expect(braked.settled('w').ending()?.outcome).toBe('interrupted');
});

test('a call of the next turn is planned under the new policy', () => {
  const braked = readOnly(calling(asking({}, {}, LOOKING), call('w', 'write', { path: 'a' })));
  const next = braked.batchSettled().observed([call('again', 'write', { path: 'a' }), call('r', 'look')]);
  expect(next.rejections()).toEqual({ 0: 'permission_denied' });
});
