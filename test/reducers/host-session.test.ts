// Host sessions (AOS P7, "Host Session Gating Semantics"): facts from several events, expiry, and runs that open one.
import { describe, expect, test } from 'vitest';
import { defaultToolPackage, permissionTools } from '../../src/index.ts';
import { brand } from '../../schemas/index.ts';
import { asking, calling, statuses } from '../support/consent.ts';
import { call, session } from '../support/session.ts';
import { tool } from '../support/tools.ts';

const real = (): ReturnType<typeof session> => session({ tool_package: defaultToolPackage() });

/** What a session without a ready host still offers. */
const WITHOUT_HOST = ['open_session', ...permissionTools().map(({ tool_name }): string => tool_name)];

describe('facts', () => {
  test('a settlement that opened the session makes its tools available in the middle of the batch', () => {
    const run = real()
      .runRequested()
      .observed([call('o', 'open_session'), call('r', 'read_file', { path: 'x' })]);
    expect(run.rejections()).toEqual({ 1: 'tool_unavailable' });
    const opened = run.settled('o', {
      host_session: { host_session_id: 'h', host_session_status: 'ready', sandbox: 'bwrap' },
    });
    expect(opened.state.tool_runtime_context).toMatchObject({
      host_session_id: 'h',
      host_session_status: 'ready',
      sandbox: 'bwrap',
    });
    expect(opened.toolNames()).toContain('read_file');
    expect(opened.batchSettled().effectsOf('llm.generate')[0]?.tools.length).toBe(opened.toolNames().length);
  });

  test('a result that reports the session as closed makes its tools unavailable', () => {
    const run = real()
      .hostReady()
      .runRequested()
      .observed([call('r', 'read_file', { path: 'x' })]);
    const gone = run.settled('r', {
      success: false,
      code: 'session_expired',
      host_session: { host_session_status: 'expired' },
    });
    expect(gone.toolNames()).toEqual(WITHOUT_HOST);
    expect(gone.batchSettled().transcript().at(-1)).toMatch(/^tool! r/);
  });

  test('omitted facts stay', () => {
    const known = real()
      .host({ host_session_id: 'h', host_session_status: 'ready', sandbox: 'none', workspace: '/w' })
      .host({ capabilities: ['net'] });
    expect(known.state.tool_runtime_context).toEqual({
      host_session_id: 'h',
      host_session_status: 'ready',
      host_session_expires_at_ms: null,
      sandbox: 'none',
      workspace: '/w',
      capabilities: ['net'],
    });
  });
});

describe('the place of a host', () => {
  const HERE = { sandbox: 'bwrap', workspace: '/w', workspace_name: brand<'WorkspaceName'>('w@1') } as const;
  const inPlace = asking().host({ host_session_status: 'ready', ...HERE });
  const elsewhere = [
    ['name of the workspace', { ...HERE, workspace_name: brand<'WorkspaceName'>('w@2') }],
    ['path, where a name is missing', { sandbox: 'bwrap', workspace: '/v' }],
    ['sandbox', { ...HERE, sandbox: 'none' }],
    ['user of the commands', { ...HERE, commands_share_user: true }],
  ] as const;

  test.each(elsewhere)('is another with another %s: grants end, and answers ask again', (_, place) => {
    const approved = calling(inPlace, call('a', 'asks'), call('w', 'asks'), call('free', 'free')).allowed('a');
    const granted = approved.allowed('w', { grant: {} });
    expect(statuses(granted)).toEqual(['queued', 'queued', 'queued']);
    expect(granted.refusal('ToolCallStarted', { ...granted.callFields('a'), owner: 'b', place }).code).toBe(
      'other_place',
    );
    const moved = granted.host(place);
    expect(moved.state.consent.grants).toEqual([]);
    expect(statuses(moved)).toEqual(['waiting', 'waiting', 'queued']);
    expect(moved.takes('ToolCallStarted', { ...moved.callFields('free'), owner: 'b', place }).phase()).toBe(
      'executing',
    );
    expect(statuses(moved.allowed('a'))).toEqual(['queued', 'waiting', 'queued']);
  });

  test('is the same with the same facts, and with another path under the same name', () => {
    const run = calling(inPlace, call('a', 'asks')).allowed('a', { grant: {} });
    for (const place of [HERE, { ...HERE, workspace: '/mounted' }, {}]) {
      const same = run.host(place);
      expect([statuses(same), same.state.consent.grants.length]).toEqual([['queued'], 1]);
      expect(statuses(run.takes('ToolCallStarted', { ...run.callFields('a'), owner: 'b', place }))).toEqual([
        'running',
      ]);
    }
  });

  test('is not forgotten by a bridge that names no workspace: another name at the same path is another place', () => {
    const run = calling(inPlace, call('a', 'asks')).allowed('a', { grant: {} });
    const { workspace_name: _name, ...nameless } = HERE;
    const between = run.host(nameless);
    expect(between.state.consent.grants).toHaveLength(1);
    const moved = between.host({ ...HERE, workspace_name: brand<'WorkspaceName'>('w@2') });
    expect([statuses(moved), moved.state.consent.grants]).toEqual([['waiting'], []]);
  });

  test('changes while an approved call runs: its next attempt asks', () => {
    const again = tool('again', { permission_policy: 'always_ask', idempotent: true });
    const ready = asking({}, {}, [again]).host({ host_session_status: 'ready', ...HERE });
    const running = calling(ready, call('a', 'again')).allowed('a').started('a');
    expect(statuses(running.leaseExpired('a'))).toEqual(['queued']);
    expect(statuses(running.host({ ...HERE, sandbox: 'none' }).leaseExpired('a'))).toEqual(['waiting']);
  });
});

describe('expiry', () => {
  const limited = real().host({ host_session_id: 'h', host_session_status: 'ready', expires_at_ms: 50_000 });

  test('its time is a wake, and TimeReached makes the tools unavailable', () => {
    expect(limited.effectsOf('wake')).toMatchObject([{ at_ms: 50_000 }]);
    const expired = limited.takes('TimeReached', { due_at_ms: 50_000 });
    expect(expired.state.tool_runtime_context).toMatchObject({
      host_session_status: 'expired',
      host_session_expires_at_ms: null,
    });
    expect(expired.toolNames()).toEqual(WITHOUT_HOST);
    expect(expired.effects()).toEqual([]);
  });

  test('a time that nothing waits for is refused', () => {
    expect(limited.refusal('TimeReached', { due_at_ms: 49_999 })).toMatchObject({ code: 'time_not_due' });
    expect(real().refusal('TimeReached', { due_at_ms: 50_000 })).toMatchObject({ code: 'time_not_due' });
  });

  test('a reopened session has a new expiry time', () => {
    const again = limited.host({ host_session_id: 'i', host_session_status: 'ready' });
    expect(again.effectsOf('wake')).toEqual([]);
  });
});

describe('a run that opens a host session', () => {
  const opening = real().runRequested({ host_session_open: true });

  test('owes only the host session first, and its first turn is offered the host tools', () => {
    expect(opening.effects().map((effect) => effect.kind)).toEqual(['host_session.open']);
    expect(
      opening
        .hostReady()
        .effectsOf('llm.generate')[0]
        ?.tools.map((tool) => tool.tool_name),
    ).toContain('read_file');
  });

  test.each(['error', 'closed', 'expired'] as const)('fails with the reason when the host session is %s', (status) => {
    expect(opening.host({ host_session_status: status }, 'no such workspace').ending()).toMatchObject({
      outcome: 'failed',
      code: 'host_session_failed',
      message: 'no such workspace',
    });
  });

  test('starts at once when a host session is ready', () => {
    expect(real().hostReady().runRequested({ host_session_open: true }).phase()).toBe('generating');
  });

  test('starts at once when none of its tools needs one', () => {
    const run = real().runRequested(
      { host_session_open: true },
      { tools: { enable: [], force: [], disable: real().tool_package.registry.map((tool) => tool.tool_id) } },
    );
    expect(run.phase()).toBe('generating');
    expect(run.effectsOf('llm.generate')[0]?.tools).toEqual([]);
  });

  test('may be paused, resumed and cancelled while it waits', () => {
    const paused = opening.paused();
    expect(paused.effects()).toEqual([]);
    expect(paused.hostReady().phase()).toBe('paused_generating');
    expect(
      paused
        .resumed()
        .effects()
        .map((effect) => effect.kind),
    ).toEqual(['host_session.open']);
    expect(opening.cancelled().ending()).toMatchObject({ outcome: 'cancelled' });
  });

  test('a run that does not open one continues, and the reasons name what is missing', () => {
    const run = real().runRequested();
    expect(run.phase()).toBe('generating');
    expect(run.state.effective_tools.verdicts.find((verdict) => verdict.tool_name === 'read_file')?.reasons).toContain(
      'host_session_not_ready',
    );
  });
});
