// Sessions about the available tools: the host session, another registry, profiles and overrides, refused calls.
import { Recorder, call, say } from './recorder.mjs';
import { AGAIN, BROWSER, HOSTED, ONCE, OPEN, READ, WORKFLOW, WRITE, packageOf, profile, tool } from './tools.mjs';

export function hostSessionExpiry() {
  const tool_package = packageOf([OPEN, HOSTED, BROWSER, READ]);
  const session = new Recorder('host-session-expiry', { tool_package, config: { host_session_open: true } });
  const due = (minutes) => session.state.created_at_ms + 60_000 * minutes;
  const ready = { host_session_status: 'ready', sandbox: 'bwrap', workspace: '/work' };
  const host = (host_session, rest = {}) => session.takes('HostSessionUpdated', { host_session, ...rest });
  session.offers('open', 'read').runs('use the host').isNow('opening').ofRun('RunPaused').isNow('paused_opening');
  host({ capabilities: ['net', 'browser', 'Zoom', 'net'] })
    .isNow('paused_opening')
    .ofRun('RunResumed');
  host({ host_session_id: 'host-1', ...ready, expires_at_ms: due(2) }).isNow('generating');
  session.offers('hosted', 'browser', 'read').observes([call('c1', 'hosted'), call('c2', 'browser', { url: 'x' })]);
  session
    .starts('c1')
    .takes('TimeReached', { due_at_ms: due(2) })
    .offers('open', 'read');
  // A call that runs goes on; one that has not started is refused, as new calls are.
  session.calls({ c1: 'running', c2: 'rejected' }).settles('c1').settlesBatch();
  session.observes([call('c3', 'hosted'), call('c4', 'open')]).refused('tool_unavailable');
  const opened = { host_session_id: 'host-2', ...ready, sandbox: 'none', expires_at_ms: due(4), capabilities: [] };
  session.settles('c4', { host_session: opened }).offers('hosted', 'read').settlesBatch();
  session
    .takes('TimeReached', { due_at_ms: due(5), late: true })
    .answers('expired again')
    .ended('completed');
  session.runs('it fails to open').isNow('opening');
  host({ host_session_status: 'error' }, { detail: 'no sandbox here' }).ended('failed', 'host_session_failed');
  host({ host_session_status: 'closed' });
  return session
    .runs('no host needed', { tools: { enable: [], disable: ['hosted', 'browser'], force: [] } })
    .isNow('generating')
    .answers('right');
}

export function registryReplaced() {
  const session = new Recorder('registry-replaced', { tool_package: packageOf([READ, WRITE, ONCE]) });
  const reread = tool('read', { ...READ, description: 'Reads better.', tool_ref: undefined });
  const added = tool('added', { output_schema: { type: 'object' }, executor: { kind: 'mcp', server: 's', tool: 't' } });
  session
    .runs('work')
    .observes([call('c1', 'write', { path: 'a' }), call('gone', 'once')])
    .starts('c1');
  session.takes('FollowUpQueued', {
    follow_up: { input: say('fits no longer'), run_overrides: { tool_profile: 'all' } },
  });
  session.takes('FollowUpQueued', { follow_up: { input: say('fits') } });
  session.takes('ToolRegistrySet', {
    registry: [added, reread, AGAIN],
    profiles: [profile('new', [reread, added])],
    provider_profiles: [{ provider_contains: '', profile_id: 'new' }],
  });
  session
    .offers('read', 'added')
    .calls({ c1: 'running', gone: 'rejected' })
    .settles('c1')
    .finishesBatch()
    .observes([call('c2', 'read', { path: 'a' })]);
  // The registry changes during a generate: the offered tools differ from the registered ones.
  session.finishesBatch().takes('ToolRegistrySet', { registry: [READ, added, ONCE] });
  session.observes([call('c3', 'read', { path: 'a' }), call('c4', 'again'), call('c5', 'added'), call('c6', 'once')]);
  session.refused('tool_not_offered', 'tool_unknown', 'tool_not_offered').finishesBatch().answers('done');
  session.shows('the misfit failed', ({ run_history }) => run_history.at(-1).ending.code === 'profile_unknown');
  return session.isNow('generating').answers('fits').ended('completed');
}

export function overrides() {
  const tool_package = {
    registry: [WRITE, READ, HOSTED, ONCE, AGAIN],
    profiles: [profile('reader', [READ]), profile('writer', [WRITE, READ, HOSTED]), profile('all', [ONCE, AGAIN])],
    provider_profiles: [
      { provider_contains: 'claude', profile_id: 'writer' },
      { provider_contains: '', profile_id: 'reader' },
    ],
  };
  const session = new Recorder('overrides', { tool_package });
  const set = (scope, lists) => session.takes('ToolOverridesSet', { scope, ...lists });
  session.offers('read').takes('SessionConfigured', { config: { provider: 'Some-CLAUDE', model: 'm' } });
  session.offers('write', 'read').takes('ToolProfileSelected', { profile_id: 'all' }).offers('once', 'again');
  set('session', { enable: ['write'], disable: ['again'] }).offers('once', 'write');
  session.runs('in a run', {
    run_overrides: { tool_profile: 'writer', tool_concurrency_max: 2 },
    tools: { enable: ['once'], disable: ['read'], force: ['hosted', 'again'] },
  });
  // Disable wins over force, and force does not make an unavailable tool available.
  session
    .offers('write', 'once')
    .observes([call('c1', 'again'), call('c2', 'write', { path: 'a' }), call('c3', 'read')]);
  session.refused('tool_disabled', 'tool_disabled');
  set('run', { force: ['hosted'] }).takes('HostSessionUpdated', { host_session: { host_session_status: 'ready' } });
  session.offers('write', 'read', 'hosted').finishesBatch().answers('done').offers('once', 'write');
  set('session', {})
    .offers('once', 'again')
    .takes('SessionConfigured', { config: { tool_profile: 'reader' } });
  return session.offers('read');
}

export function rejectedCalls() {
  const hidden = tool('constructor', { tool_id: 'x.constructor' });
  const tool_package = packageOf([READ, WRITE, HOSTED, WORKFLOW, ONCE], [hidden, AGAIN]);
  const session = new Recorder('rejected-calls', { tool_package, config: { repeats_max: 2 } });
  session.takes('ToolOverridesSet', { scope: 'session', disable: ['once'] }).runs('everything wrong');
  session
    .takes('ToolOverridesSet', { scope: 'session', disable: ['once'], enable: ['again'] })
    .observes([
      call('same', 'read', { path: 'a' }),
      call('same', 'read', { path: 'b' }),
      call('c1', 'toString'),
      call('c2', 'once'),
      call('c3', 'hosted'),
      call('c4', 'constructor'),
      call('c5', 'again'),
      call(
        'c6',
        'write',
        { path: 7 },
        { arguments_verdict: { valid: false, message: 'must be string', path: '/path' } },
      ),
      { call_id: 'c7', tool_name: 'write', arguments_text: '{"path":', provider_call_id: 'toolu_01' },
      call('c8', 'workflow'),
      call('c9', 'write', { path: 'c' }),
      call('c10', 'write', { path: 'c' }),
      call('c11', `no ${'such '.repeat(40)}tool`),
    ]);
  session.refused(
    'duplicate_call_id',
    'tool_unknown',
    'tool_disabled',
    'tool_unavailable',
    'tool_not_offered',
    'tool_not_offered',
    'tool_invalid_args',
    'tool_invalid_args',
    'executor_unsupported',
    'repeated_call',
    'tool_unknown',
  );
  session
    .finishesBatch()
    .observes([call('c1', 'nothing')])
    .refused('tool_unknown')
    .settlesBatch();
  return session
    .shows('the two calls get different ids', ({ transcript }) =>
      transcript.open.some((entry) => entry.call_id === 'same~1'),
    )
    .answers('I give up');
}
