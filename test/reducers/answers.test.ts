// Answers of people to calls that wait for them (openboa, "Managed tool confirmation"; docs/design.md, law 9).
import { describe, expect, test } from 'vitest';
import { AMENDED_MAX, GRANTS_MAX } from '../../schemas/limits.ts';
import { digestJson } from '../../schemas/index.ts';
import { sessionStatus } from '../../src/core/index.ts';
import { asking, calling, owed, statuses } from '../support/consent.ts';
import { type Session, ZERO_DIGEST, call } from '../support/session.ts';

// Found by the simulator (seed 3396): the plan has the barrier wait for the question alone, which waits for the read.
test('a call that waits for a denied call still waits for what the denied call waited for', () => {
  const run = calling(
    asking(),
    call('first', 'read', { path: 'a' }),
    call('q', 'asks_write', { path: 'a' }),
    call('last', 'barrier'),
  ).denied('q');
  expect(run.plan().execution_plan.after).toMatchObject({ last: ['q'], q: ['first'] });
  expect(run.effectsOf('tool.call').map(({ call_id, after }) => [call_id, after])).toEqual([
    ['first', []],
    ['last', ['first']],
  ]);
  expect(run.refusal('ToolCallStarted', { ...run.callFields('last'), owner: 'b' }).code).toBe('call_not_ready');
  expect(run.settled('first').started('last').callState('last')?.status).toBe('running');
});

describe('a call that asks', () => {
  const run = calling(
    asking(),
    call('q', 'asks_write', { path: 'a' }),
    call('held', 'read', { path: 'a' }),
    call('free', 'free'),
    call('other', 'read', { path: 'b' }),
  );

  test('is planned and waits; calls that do not depend on it are owed, dependent calls are not', () => {
    expect(statuses(run)).toEqual(['waiting', 'queued', 'queued', 'queued']);
    expect(owed(run)).toEqual(['agent.tool_use q', 'tool.call free', 'tool.call other']);
    expect(run.plan().execution_plan.after).toMatchObject({ held: ['q'], q: [] });
    expect(run.plan().planned_calls[0]?.consent).toEqual({ ask: 'person', mode: 'local', reasons: ['tool_asks'] });
  });

  test('its effect shows the person the call', () => {
    expect(run.effectsOf('agent.tool_use')).toMatchObject([
      {
        effect_id: 'batch-1/q/confirm',
        call_id: 'q',
        tool_name: 'asks_write',
        mode: 'local',
        arguments: { path: 'a' },
        arguments_digest: digestJson({ path: 'a' }),
        consent: { reasons: ['tool_asks'] },
      },
    ]);
    expect(sessionStatus(run.state)).toEqual({ status: 'requires_action', blocking_event_ids: ['batch-1/q/confirm'] });
  });

  test('other calls settle meanwhile, and the batch waits for it', () => {
    const rest = run.settled('free').settled('other');
    expect(rest.refusal('ToolBatchSettled', rest.batchFields()).code).toBe('batch_not_settled');
    expect(owed(rest)).toEqual(['agent.tool_use q']);
  });

  test('a bridge cannot start, settle or lose it, nor start calls that wait for it', () => {
    for (const kind of ['ToolCallStarted', 'ToolCallSettled', 'LeaseExpired'] as const) {
      const fields = { ...run.settlementFields('q'), owner: 'bridge-1' };
      const { batch_id, call_id, attempt, plan_hash, owner, result, output } = fields;
      const reportOf = {
        ToolCallStarted: { batch_id, call_id, attempt, plan_hash, owner },
        ToolCallSettled: { batch_id, call_id, attempt, plan_hash, result, output },
        LeaseExpired: { batch_id, call_id, attempt },
      }[kind];
      expect(run.refusal(kind, reportOf as never).code).toBe('waits_for_person');
    }
    expect(run.refusal('ToolCallStarted', { ...run.callFields('held'), owner: 'b' }).code).toBe('call_not_ready');
  });

  test('when allowed, it is owed to a bridge, and dependent calls wait for it', () => {
    const allowed = run.allowed('q', { by: 'ann' });
    expect(owed(allowed)).toEqual(['tool.call q', 'tool.call held', 'tool.call free', 'tool.call other']);
    expect(sessionStatus(allowed.state).status).toBe('running');
    expect(allowed.started('q').settled('q').started('held').callState('held')?.status).toBe('running');
  });

  test('when denied, the model reads the denial in its place, and dependent calls continue', () => {
    const denied = run.denied('q', { message: 'not on a Friday' });
    expect(denied.callState('q')).toMatchObject({ status: 'denied', code: 'permission_denied', terminal: false });
    expect(owed(denied)).toEqual(['tool.call held', 'tool.call free', 'tool.call other']);
    expect(denied.batchDone().transcript()).toEqual([
      'user go',
      'assistant [q held free other]',
      'tool! q error: permission_denied: not on a Friday',
      'tool held output of held',
      'tool free output of free',
      'tool other output of other',
    ]);
  });

  test('a denial without a message has a default text and ends the run under no completion rule', () => {
    const steerable = calling(asking({}, { completion: 'steerable' }), call('q', 'asks'));
    const denied = steerable.denied('q').batchSettled();
    expect(denied.transcript().at(-1)).toMatch(/^tool! q error: permission_denied: ./);
    expect(denied.phase()).toBe('generating');
  });

  test('a policy that denies settles it at once', () => {
    const refused = calling(asking({ tools: { asks: 'deny' } }), call('q', 'asks'), call('f', 'free'));
    expect(refused.rejections()).toEqual({ 0: 'permission_denied' });
    expect(owed(refused)).toEqual(['tool.call f']);
    expect(refused.batchDone().transcript().at(-2)).toMatch(/^tool! q error: permission_denied: .*session_denies/);
  });

  test('a later change of the policy does not change planned calls', () => {
    const later = run.takes('ConsentPolicySet', { policy: { ...asking().genesis.consent, tools: {} } });
    expect(owed(later)).toEqual(owed(run));
    expect(later.plan()).toEqual(run.plan());
  });

  test('a paused run still asks and accepts the answer, and starts no call', () => {
    const paused = run.paused();
    expect(owed(paused)).toEqual(['agent.tool_use q']);
    const allowed = paused.allowed('q');
    expect(owed(allowed)).toEqual([]);
    expect(owed(allowed.resumed())).toContain('tool.call q');
  });
});

describe('an answer', () => {
  const run = calling(asking(), call('q', 'asks', { n: 1 }), call('f', 'free'), call('z', 'no_such_tool'));
  const allow = { ...run.answerFields('q'), result: 'allow' as const };
  const refusal = (of: Session, fields: object): string =>
    of.refusal('user.tool_confirmation', { ...allow, ...fields }).code;

  test('counts once', () => {
    expect(refusal(run.allowed('q'), {})).toBe('not_confirmable');
    expect(refusal(run.denied('q'), {})).toBe('not_confirmable');
    expect(refusal(run.allowed('q'), { result: 'deny' })).toBe('not_confirmable');
  });

  test('is bound to the batch, the call and the digest of its arguments', () => {
    expect(refusal(run, { batch_id: 'batch-2' })).toBe('wrong_batch');
    expect(refusal(run, { call_id: 'no_such_call' })).toBe('unknown_call');
    expect(refusal(run, { arguments_digest: digestJson({ n: 2 }) })).toBe('arguments_mismatch');
  });

  test('is refused for a call that is queued, running, rejected or settled', () => {
    const digestOf = (id: string) => run.answerFields(id);
    expect(refusal(run, digestOf('f'))).toBe('not_confirmable');
    expect(refusal(run.started('f'), digestOf('f'))).toBe('not_confirmable');
    expect(refusal(run.settled('f'), digestOf('f'))).toBe('not_confirmable');
    expect(refusal(run, { ...digestOf('z'), arguments_digest: ZERO_DIGEST })).toBe('not_confirmable');
  });

  test('is too late when the run was interrupted or cancelled, or the batch is over', () => {
    expect(refusal(run.interrupted(), {})).toBe('batch_not_active');
    expect(refusal(run.started('f').interrupted(), {})).toBe('wrong_phase');
    expect(refusal(run.cancelled(), {})).toBe('batch_not_active');
    const redirected = run.takes('user.interrupt', { run_id: 'run-1', input: { text: 'rather this' } });
    expect(refusal(redirected, {})).toBe('batch_not_active');
    expect(refusal(redirected.observed([call('q', 'asks', { n: 1 })]), {})).toBe('wrong_batch');
    expect(refusal(run.denied('q').batchDone(), {})).toBe('batch_not_active');
  });
});

describe('a grant', () => {
  const run = calling(
    asking(),
    call('a', 'asks_write', { path: 'src/a' }),
    call('b', 'asks_write', { path: 'src/b' }),
    call('c', 'asks_write', { path: 'etc/c' }),
    call('up', 'asks_write', { path: 'src/../d' }),
    call('d', 'asks', { path: 'src/a' }),
  );

  test('for a tool answers all waiting and later calls of the tool', () => {
    const granted = run.allowed('a', { grant: {} });
    expect(statuses(granted)).toEqual(['queued', 'queued', 'queued', 'queued', 'waiting']);
    const next = granted
      .denied('d')
      .batchDone()
      .observed([call('e', 'asks_write', { path: 'x' })]);
    expect(statuses(next)).toEqual(['queued']);
    expect(next.plan().planned_calls[0]?.consent).toEqual({
      ask: 'none',
      mode: 'local',
      reasons: ['tool_asks', 'granted'],
    });
  });

  test('with a pattern answers the calls whose argument matches', () => {
    const granted = run.allowed('a', { grant: { argument: 'path', pattern: 'src/*' } });
    expect(statuses(granted)).toEqual(['queued', 'queued', 'waiting', 'waiting', 'waiting']);
    const { tool_ref } = run.plan().planned_calls[0] ?? {};
    expect(granted.state.consent?.grants).toEqual([
      { tool_id: 'asks_write', tool_ref, argument: 'path', pattern: 'src/*', others: digestJson({ path: '' }) },
    ]);
  });

  test('with a pattern asks about every call whose other arguments are not those of the approved one', () => {
    const calls = calling(
      asking(),
      call('a', 'asks_run', { argv: ['git', 'status'], cwd: '.' }),
      call('same', 'asks_run', { argv: ['git', 'log'], cwd: '.' }),
      call('elsewhere', 'asks_run', { argv: ['git', 'status'], cwd: '..' }),
      call('nowhere', 'asks_run', { argv: ['git', 'status'] }),
      call('fed', 'asks_run', { argv: ['git', 'status'], cwd: '.', stdin: 'x' }),
    );
    const granted = calls.allowed('a', { grant: { argument: 'argv', pattern: 'git *' } });
    expect(statuses(granted)).toEqual(['queued', 'queued', 'waiting', 'waiting', 'waiting']);
    const next = granted.denied('elsewhere').denied('nowhere').denied('fed').batchDone();
    const env = { GIT_CONFIG_COUNT: '1', PATH: '/tmp' };
    const later = next.observed([
      call('x', 'asks_run', { argv: ['git', 'diff'], cwd: '.' }),
      call('y', 'asks_run', { argv: ['git', 'diff'], cwd: '.', env }),
    ]);
    expect(statuses(later)).toEqual(['queued', 'waiting']);
  });

  test('with a pattern is refused when the call has no such argument', () => {
    const grant = { argument: 'cwd', pattern: '**' };
    expect(run.refusal('user.tool_confirmation', { ...run.answerFields('a'), result: 'allow', grant })).toMatchObject({
      code: 'grant_invalid',
      path: '/grant/argument',
      message: expect.stringContaining('no such argument "cwd"'),
    });
  });

  test('ends with the workspace it was given in, and with the way commands are confined', () => {
    const here = run.host({ workspace: '/a', sandbox: 'bwrap', host_session_status: 'ready' });
    const granted = here.allowed('a', { grant: {} });
    expect(granted.host({ workspace: '/a' }).state.consent.grants).toHaveLength(1);
    for (const moved of [granted.host({ workspace: '/b' }), granted.host({ sandbox: 'none' })]) {
      expect(moved.state.consent.grants).toEqual([]);
      // An answer counts in its place alone.
      expect(statuses(moved)).toEqual(['waiting', 'waiting', 'waiting', 'waiting', 'waiting']);
    }
  });

  test('allows the confirmed call even when its pattern does not match it', () => {
    const granted = run.allowed('c', { grant: { argument: 'path', pattern: 'src/*' } });
    expect(statuses(granted)).toEqual(['queued', 'queued', 'queued', 'waiting', 'waiting']);
  });

  test('with a pattern does not match arguments in a blob', () => {
    const blob = { arguments_ref: { ref: ZERO_DIGEST, bytes: 9_000, head: 'src/x', tail: '' } };
    const stored = call('big', 'asks_write', {}, blob);
    const { arguments: _inline, ...big } = stored;
    const two = calling(asking(), call('a', 'asks_write', { path: 'src/a' }), big);
    const grant = { argument: 'path', pattern: '**' };
    expect(statuses(two.allowed('a', { grant }))).toEqual(['queued', 'waiting']);
    const answer = { ...two.answerFields('big'), result: 'allow' as const, grant };
    expect(two.refusal('user.tool_confirmation', answer).code).toBe('grant_invalid');
    expect(statuses(two.allowed('a', { grant: {} }))).toEqual(['queued', 'queued']);
  });

  test('is revoked when the policy is replaced', () => {
    const granted = run.allowed('a', { grant: {} });
    const { policy } = granted.state.consent;
    expect(granted.takes('ConsentPolicySet', { policy }).state.consent?.grants).toEqual([]);
  });

  test('requires an allowance and both argument and pattern or neither, and is refused beyond the limit', () => {
    const refusal = (of: Session, rest: object): object =>
      of.refusal('user.tool_confirmation', { ...of.answerFields('a'), result: 'allow', ...rest });
    expect(refusal(run, { result: 'deny', grant: {} })).toMatchObject({ code: 'grant_invalid', path: '/grant' });
    expect(refusal(run, { grant: { argument: 'path' } })).toMatchObject({ code: 'grant_invalid' });
    expect(refusal(run, { grant: { pattern: '*' } })).toMatchObject({ code: 'grant_invalid' });
    let full = asking({}, { turns_max: 2 * GRANTS_MAX });
    for (let count = 0; count < GRANTS_MAX; count += 1) {
      const grant = { argument: 'path', pattern: `p${count}` };
      full = (count === 0 ? full.runRequested() : full)
        .observed([call('g', 'asks_write', { path: `x${count}` })])
        .allowed('g', { grant })
        .batchDone();
    }
    const last = full.observed([call('a', 'asks_write', { path: 'last' })]);
    expect(refusal(last, { grant: {} })).toMatchObject({ code: 'grants_full', path: '/grant' });
    expect(statuses(last.allowed('a'))).toEqual(['queued']);
  });
});

describe('changed arguments', () => {
  const run = calling(asking(), call('q', 'asks_write', { path: 'a' }), call('f', 'free'));
  const instead = call('q2', 'asks_write', { path: 'b' });

  test('deny the call and make a new one in a new batch, which does not ask again', () => {
    const amended = run.denied('q', { message: 'b, not a', instead });
    expect(amended.callState('q')).toMatchObject({ status: 'denied', code: 'permission_denied' });
    expect(amended.state.run?.amended).toEqual([instead]);
    const second = amended.settled('f').batchSettled();
    expect(second.phase()).toBe('executing');
    expect(second.state.active_tool_batch).toMatchObject({ batch_id: 'batch-2', turn: 1 });
    expect(second.state.run).not.toHaveProperty('amended');
    expect(second.plan().planned_calls[0]?.consent?.reasons).toEqual(['tool_asks', 'approved_with_changes']);
    expect(owed(second)).toEqual(['tool.call q2']);
    expect(second.batchDone().transcript()).toEqual([
      'user go',
      'assistant [q f]',
      'tool! q error: permission_denied: b, not a',
      'tool f output of f',
      'assistant [q2]',
      'tool q2 output of q2',
    ]);
    expect(second.batchDone().state.run).toMatchObject({ turn: 2, calls: 3, phase: 'generating' });
  });

  test('of several calls go into one batch, in the order they were given', () => {
    const two = calling(asking(), call('a', 'asks', { n: 1 }), call('b', 'asks', { n: 2 }));
    const amended = two
      .denied('b', { instead: call('b2', 'asks', { n: 3 }) })
      .denied('a', { instead: call('a2', 'asks', { n: 4 }) })
      .batchSettled();
    expect(amended.state.active_tool_batch?.observed.map((made) => made.call_id)).toEqual(['b2', 'a2']);
  });

  test('are judged like any call: the policy still denies, and a removed tool is unknown', () => {
    const amended = run.denied('q', { instead }).settled('f');
    const policy = { ...asking({ tools: { asks_write: 'deny' } }).genesis.consent };
    const denied = amended.takes('ConsentPolicySet', { policy }).batchSettled();
    expect(denied.rejections()).toEqual({ 0: 'permission_denied' });
    const gone = amended.takes('ToolOverridesSet', { scope: 'session', disable: ['asks_write'] }).batchSettled();
    expect(gone.rejections()).toEqual({ 0: 'tool_disabled' });
    expect(gone.batchSettled().transcript().at(-1)).toMatch(/^tool! q2 error: tool_disabled/);
  });

  test('are kept while the run is paused', () => {
    const paused = run.started('f').paused().denied('q', { instead }).settled('f').batchSettled();
    expect(paused.phase()).toBe('paused_executing');
    expect(owed(paused)).toEqual([]);
    expect(owed(paused.resumed())).toEqual(['tool.call q2']);
  });

  test('are dropped when the run has ended by a result or by a person', () => {
    const amended = run.denied('q', { instead });
    const over = amended.settled('f', { result: { success: true, terminal: true } }).batchSettled();
    expect(over.phase()).toBe('idle');
    const redirected = amended.takes('user.interrupt', { run_id: 'run-1', input: { text: 'no' } });
    expect(redirected.phase()).toBe('generating');
    expect(redirected.state.run).not.toHaveProperty('amended');
    expect(redirected.observed([call('g', 'free')]).batchDone().state.active_tool_batch).toBeNull();
  });

  const deny = { ...run.answerFields('q'), result: 'deny' as const };
  test.each([
    ['an allowance', { result: 'allow' as const, instead }, '/instead'],
    ['another tool', { instead: call('q2', 'free') }, '/instead/tool_name'],
    ['an id of the batch', { instead: call('f', 'asks_write') }, '/instead/call_id'],
    ['the id of the denied call', { instead: call('q', 'asks_write') }, '/instead/call_id'],
    [
      'arguments that do not fit',
      { instead: call('q2', 'asks_write', {}, { arguments_verdict: { valid: false, path: '/path', message: 'no' } }) },
      '/instead/arguments/path',
    ],
  ])('are refused with %s', (_, rest, path) => {
    expect(run.refusal('user.tool_confirmation', { ...deny, ...rest })).toMatchObject({
      code: 'amendment_invalid',
      path,
    });
  });

  test('are refused under the id of another changed call, and when too many wait', () => {
    const many = Array.from({ length: AMENDED_MAX + 1 }, (_, index) => call(`m${index}`, 'asks', { index }));
    let now = calling(asking(), ...many);
    now = now.denied('m0', { instead: call('new0', 'asks') });
    const again = { ...now.answerFields('m1'), result: 'deny' as const };
    expect(now.refusal('user.tool_confirmation', { ...again, instead: call('new0', 'asks') })).toMatchObject({
      code: 'amendment_invalid',
      path: '/instead/call_id',
    });
    for (let index = 1; index < AMENDED_MAX; index += 1) {
      now = now.denied(`m${index}`, { instead: call(`new${index}`, 'asks', { index }) });
    }
    const last = { ...now.answerFields(`m${AMENDED_MAX}`), result: 'deny' as const };
    expect(now.refusal('user.tool_confirmation', { ...last, instead: call('one-more', 'asks') }).code).toBe(
      'amendment_invalid',
    );
    expect(now.denied(`m${AMENDED_MAX}`).batchSettled().state.active_tool_batch?.observed).toHaveLength(AMENDED_MAX);
  });
});

describe('a question without an answer', () => {
  const TTL = 60_000;
  const run = calling(asking({ approval_ttl_ms: TTL }), call('q', 'asks'), call('f', 'free'));
  const due = run.state.updated_at_ms + TTL;

  test('has an expiry time, which state waits for', () => {
    expect(run.effectsOf('agent.tool_use')[0]?.due_at_ms).toBe(due);
    expect(run.effectsOf('wake')[0]?.at_ms).toBe(due);
    expect(run.refusal('TimeReached', { due_at_ms: due - 1 }).code).toBe('time_not_due');
  });

  test('is denied as expired at that time, and state waits for no time any more', () => {
    const expired = run.takes('TimeReached', { due_at_ms: due });
    expect(expired.callState('q')).toMatchObject({ status: 'denied', code: 'approval_expired' });
    expect(owed(expired)).toEqual(['tool.call f']);
    expect(expired.refusal('user.tool_confirmation', { ...run.answerFields('q'), result: 'allow' }).code).toBe(
      'not_confirmable',
    );
    expect(expired.batchDone().transcript().at(-2)).toMatch(/^tool! q error: approval_expired: /);
  });

  test('does not expire after it was answered or the run has ended', () => {
    for (const over of [run.allowed('q'), run.denied('q'), run.cancelled(), run.started('f').interrupted()]) {
      expect(over.effectsOf('wake')).toEqual([]);
      expect(over.refusal('TimeReached', { due_at_ms: due }).code).toBe('time_not_due');
    }
  });
});
