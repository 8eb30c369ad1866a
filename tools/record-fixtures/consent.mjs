// Sessions about people: questions, answers, custom calls and redirects; and about limits: budgets, deadlines, attempts.
import assert from 'node:assert/strict';
import { CONSENT_PRESETS } from '../../dist/src/toolsets/consent-presets.js';
import { permissionTools } from '../../dist/src/toolsets/permission-tools.js';
import { Recorder, call, say } from './recorder.mjs';
import { AGAIN, ASKS, BARRIER, ONCE, PERSON, READ, SEND, TIMED, WRITE, packageOf } from './tools.mjs';

export function confirmations() {
  const tool_package = packageOf([READ, WRITE, ASKS, ONCE]);
  const session = new Recorder('confirmations', { tool_package });
  session
    .runs('five things')
    .observes([
      call('yes', 'asks', { path: 'a' }),
      call('held', 'read', { path: 'a' }),
      call('no', 'asks', { path: 'b' }),
      call('silent', 'asks', { path: 'c' }),
      call('free', 'once'),
    ]);
  session.calls({ yes: 'waiting', held: 'queued', no: 'waiting' }).owes('agent.tool_use', 'yes', 'no', 'silent');
  session.owes('tool.call', 'free').starts('free').settles('free');
  session.confirms('yes', 'allow', { by: 'ann' }).owes('tool.call', 'yes', 'held').starts('yes').settles('yes');
  session.confirms('no', 'deny', { message: 'not on a Friday', by: 'ann' }).calls({ no: 'denied' });
  session.confirms('silent', 'deny').settles('held').settlesBatch();
  // A grant for the rest of the session answers waiting and later calls.
  session.observes([call('a', 'asks', { path: 'src/a' }), call('b', 'asks', { path: 'src/b' }), call('c', 'asks')]);
  session.confirms('a', 'allow', { grant: { argument: 'path', pattern: 'src/*' } });
  session.calls({ a: 'queued', b: 'queued', c: 'waiting' }).confirms('c', 'allow', { grant: {} }).finishesBatch();
  session
    .observes([call('d', 'asks', { path: 'etc' })])
    .calls({ d: 'queued' })
    .finishesBatch();
  // Another policy revokes the grants.
  session.takes('ConsentPolicySet', { policy: { ...CONSENT_PRESETS.careful, tools: { once: 'deny' } }, by: 'ann' });
  session.observes([
    call('e', 'asks', { path: 'etc' }),
    call('f', 'once', { n: 1 }),
    call('g', 'write', { path: 'x' }),
  ]);
  session.calls({ e: 'waiting', f: 'rejected', g: 'waiting' }).refused('permission_denied');
  return session.confirms('e', 'allow').confirms('g', 'deny').finishesBatch().answers('done').ended('completed');
}

export function brake() {
  const tools = [ASKS, ONCE, AGAIN, PERSON];
  const session = new Recorder('brake', { tool_package: packageOf(tools), config: { retry: RETRIED_AT_ONCE } });
  const sets = (preset) => session.takes('ConsentPolicySet', { policy: CONSENT_PRESETS[preset], by: 'ann' });
  const calls = [call('asked', 'asks', { path: 'a' }), call('runs', 'once'), call('waits', 'once', { n: 1 })];
  session.runs('stop this').observes([...calls, call('fails', 'again'), call('hand', 'person')]);
  session.starts('runs').starts('fails');
  sets('read_only').calls({
    asked: 'rejected',
    runs: 'running',
    waits: 'rejected',
    fails: 'running',
    hand: 'rejected',
  });
  session.owes('tool.cancel', 'runs');
  session.settles('runs', { outcome: 'cancelled', result: { success: false } });
  // An attempt that failed for a passing reason has no next one.
  session.settles('fails', { result: { success: false }, retryable: true, jitter_permille: 1_000 });
  session.calls({ fails: 'rejected' }).settlesBatch();
  // A policy that asks has a call wait that had no question; one that a person allowed is not asked about again.
  sets('allow_all').observes([call('free', 'again', { n: 2 }), call('yes', 'asks', { path: 'b' })]);
  session.confirms('yes', 'allow', { by: 'ann' });
  sets('careful').calls({ free: 'waiting', yes: 'queued' }).owes('agent.tool_use', 'free');
  return session.confirms('free', 'allow', { by: 'ann' }).finishesBatch().answers('done').ended('completed');
}

const RETRIED_AT_ONCE = { attempts_max: 3, base_ms: 0, cap_ms: 0 };

export function amendedCalls() {
  const session = new Recorder('amended-calls', { tool_package: packageOf([READ, ASKS]) });
  session.runs('change a').observes([call('q', 'asks', { path: 'a' }), call('r', 'read', { path: 'b' })]);
  const instead = call('q-edited', 'asks', { path: 'b' });
  session.confirms('q', 'deny', { message: 'b, not a', instead }).calls({ q: 'denied' }).settles('r').settlesBatch();
  session.isNow('executing').calls({ 'q-edited': 'queued' });
  session.shows('two batches of one turn', ({ active_tool_batch, run }) => {
    return active_tool_batch.batch_id === 'batch-2' && run.turn === 1 && run.amended === undefined;
  });
  session.together(() => session.starts('q-edited').settles('q-edited').settlesBatch()).isNow('generating');
  session.shows('pairs in the transcript', ({ transcript }) => transcript.open.length === 6);
  // Amended, then redirected by an interrupt: the amended call is never made.
  session.observes([call('s', 'asks', { path: 'c' }), call('t', 'read', { path: 'd' })]);
  session.confirms('s', 'deny', { instead: call('s-edited', 'asks', { path: 'd' }) });
  session.ofRun('user.interrupt', { input: say('leave it'), by: 'ann' }).isNow('generating');
  return session
    .shows('nothing to make', ({ run }) => run.amended === undefined)
    .answers('left')
    .ended('completed');
}

export function expiredApprovals() {
  const consent = { ...CONSENT_PRESETS.allow_all, approval_ttl_ms: 60_000 };
  const session = new Recorder('expired-approvals', { tool_package: packageOf([ASKS, TIMED, ONCE]), consent });
  session.runs('ask').observes([call('a', 'asks', { n: 1 }), call('b', 'asks', { n: 2 }), call('c', 'once')]);
  session.confirms('b', 'allow').passes();
  session
    .calls({ a: 'denied' })
    .shows('the code of an expired question', () => session.callState('a').code === 'approval_expired');
  // Calls that run alone wait until no person can allow the one before them.
  session
    .settles('b')
    .settles('c')
    .settlesBatch()
    .observes([call('w', 'timed', { path: 'x' }), call('v', 'timed', { path: 'x' })]);
  // The deadline of the second starts when the first has expired.
  session.passes().calls({ w: 'failed', v: 'queued' }).owes('agent.custom_tool_use', 'v').fulfils('v').settlesBatch();
  return session.answers('done').ended('completed');
}

export function customCalls() {
  const session = new Recorder('custom-calls', { tool_package: packageOf([READ, PERSON, TIMED, ASKS]) });
  session
    .runs('by hand')
    .observes([
      call('p', 'person', { what: 'sign' }),
      call('q', 'person', { what: 'call' }),
      call('r', 'read', { path: 'a' }),
      call('t', 'timed', { path: 'a' }),
    ]);
  session.owes('agent.custom_tool_use', 'p', 'q').owes('tool.call', 'r').fulfils('q', { by: 'bob' });
  session
    .settles('r')
    .owes('agent.custom_tool_use', 'p', 't')
    .fulfils('p', { result: { success: false, error: 'no' } });
  session.fulfils('t', { result: { success: true, data: { ok: true } }, output_verdict: { valid: true } });
  session
    .calls({ p: 'failed', q: 'succeeded', t: 'succeeded' })
    .settlesBatch()
    .observes([call('u', 'person')]);
  session.fulfils('u', { result: { success: true, terminal: true } }).settlesBatch();
  return session.ended('completed').isNow('idle');
}

export function redirects() {
  const session = new Recorder('redirects', { tool_package: packageOf([READ, ONCE, ASKS, PERSON]) });
  const words = (text) => session.ofRun('user.interrupt', { input: say(text), reason: 'typed', by: 'ann' });
  session.runs('one way', { run_overrides: { host_session_open: false } });
  words('another')
    .isNow('generating')
    .shows('the next turn', ({ run }) => run.turn === 2);
  session.observes([call('r', 'read', { path: 'a' }), call('o', 'once'), call('q', 'asks'), call('p', 'person')]);
  session.together(() => session.starts('r').starts('o')).ofRun('RunSteered', { input: say('left') });
  words('right').isNow('interrupting').calls({ r: 'running', o: 'running', q: 'cancelled', p: 'cancelled' });
  session
    .owes('tool.cancel', 'o')
    .settles('o', { result: { success: false }, outcome: 'cancelled' })
    .settles('r');
  session.isNow('generating').shows('steer before words', ({ transcript }) => {
    return transcript.open.slice(-2).every((entry, index) => entry.content.text === ['left', 'right'][index]);
  });
  session.ofRun('RunPaused').isNow('paused_generating');
  words('go on')
    .isNow('generating')
    .observes([call('s', 'read', { path: 'b' })])
    .starts('s');
  words('never said').ofRun('RunCancelled').isNow('cancelling').settles('s').ended('cancelled').isNow('idle');
  session.runs('last').ofRun('user.interrupt', { reason: 'enough' });
  return session.ended('interrupted').isNow('idle');
}

export function retries() {
  const retry = { attempts_max: 3, base_ms: 1_000, cap_ms: 1_500 };
  const session = new Recorder('retries', { tool_package: packageOf([READ, ONCE, SEND, WRITE]), config: { retry } });
  const failed = { result: { success: false }, code: 'busy', retryable: true };
  const fails = (rest) => session.ofRun('GenerateFailed', { turn: session.state.run.turn, message: 'no', ...rest });
  session.runs('try').isNow('generating');
  fails({ code: 'busy', retryable: true, jitter_permille: 1_200 }).owes('llm.generate').passes();
  fails({ code: 'busy', retryable: true, jitter_permille: 1_000, retry_after_ms: 90_000 }).passes();
  session.observes([call('r', 'read', { path: 'a' }), call('w', 'write', { path: 'a' }), call('o', 'once')]);
  session
    .together(() => session.starts('r').settles('r', { ...failed, jitter_permille: 800 }))
    .owes('tool.call', 'w', 'o')
    .passes();
  session
    .owes('tool.call', 'r', 'w', 'o')
    .settles('r', { ...failed, jitter_permille: 1_200 })
    .passes();
  session.settles('r', failed).calls({ r: 'failed' }).settles('w').settles('o', failed).calls({ o: 'failed' });
  session.settlesBatch().observes([call('s', 'send')]);
  const misfit = { valid: false, path: '/ok', message: 'must be boolean' };
  session.settles('s', { result: { success: true, data: { ok: 7 } }, output_verdict: misfit }).calls({ s: 'failed' });
  session.settlesBatch();
  fails({ code: 'refused', retryable: false }).ended('failed', 'refused');
  // A run that is cancelled while it waits for its next attempt.
  session
    .runs('again')
    .observes([call('t', 'read', { path: 'b' })])
    .settles('t', failed)
    .ofRun('RunCancelled');
  return session.isNow('idle');
}

export function budgets() {
  const config = { tokens_max: 400, wall_ms_max: 3_600_000 };
  const session = new Recorder('budgets', { tool_package: packageOf([READ, BARRIER, ASKS, PERSON]), config });
  const usage = (input_tokens, output_tokens) => ({ usage: { input_tokens, output_tokens } });
  session
    .runs('to the limit')
    .observes([call('a', 'read', { path: 'a' })], usage(300, 100))
    .finishesBatch();
  session
    .isNow('generating')
    .observes([call('b', 'read', { path: 'b' })], usage(0, 1))
    .ended('failed', 'tokens_exceeded');
  session
    .runs('an answer')
    .observes([], { content: say('long'), ...usage(900, 0) })
    .ended('completed');
  session
    .runs('steered')
    .ofRun('RunSteered', { input: say('more') })
    .observes([], usage(401, 0));
  session
    .ended('failed', 'tokens_exceeded')
    .runs('slow')
    .observes([call('x', 'barrier'), call('q', 'asks')])
    .starts('x');
  session.passes({ late: true }).isNow('cancelling').calls({ x: 'running', q: 'cancelled' }).settles('x');
  session.ended('failed', 'time_exceeded').runs('free', { run_overrides: { tokens_max: null, wall_ms_max: null } });
  return session.owes('wake').answers('done').ended('completed');
}

export function sharedReads() {
  // Results of open-world tools are not shared.
  const closed = { ...READ, open_world: false };
  const session = new Recorder('shared-reads', {
    tool_package: packageOf([closed, WRITE, ONCE]),
    config: { share_reads: true },
  });
  session
    .runs('read twice')
    .observes([
      call('a', 'read', { path: 'x' }),
      call('b', 'read', { path: 'x' }),
      call('o', 'once', { n: 1 }),
      call('p', 'once', { n: 1 }),
      call('w', 'write', { path: 'x' }),
      call('c', 'read', { path: 'x' }),
    ]);
  const { planned_calls } = session.state.active_tool_batch.plan;
  assert.deepEqual(
    planned_calls.map((planned) => planned.shares ?? null),
    [null, 'a', null, null, null, null],
  );
  session.owes('tool.call', 'a', 'o', 'p', 'w', 'c').starts('a').loses('a').settles('a').calls({ b: 'succeeded' });
  return session.finishesBatch().answers('the same').ended('completed');
}

export function workflowTools() {
  // By name: a workflow tool from after the recording is not in its package.
  const recorded = new Set(['permissions.check', 'permissions.describe']);
  const workflows = permissionTools().filter(({ tool_id }) => recorded.has(tool_id));
  const tool_package = packageOf([READ, ASKS, PERSON, ...workflows]);
  const session = new Recorder('workflow-tools', { tool_package, consent: CONSENT_PRESETS.careful });
  session
    .runs('may I')
    .observes([
      call('c1', 'permissions_check', { tool_name: 'asks', arguments: { path: 'a' } }),
      call('c2', 'permissions_check', { tool_name: 'nothing' }),
      call('d', 'permissions_describe'),
      call('q', 'asks', { path: 'a' }),
      call('p', 'person'),
    ]);
  session.calls({ c1: 'succeeded', c2: 'succeeded', d: 'succeeded', q: 'waiting', p: 'waiting' });
  const answerOf = (id) => JSON.parse(session.callState(id).output.text);
  assert.deepEqual([answerOf('c1').decision, answerOf('c2').decision], ['ask', 'not_available']);
  assert.deepEqual(
    answerOf('d').pending.shown.map((entry) => entry.call_id),
    ['q', 'p'],
  );
  session
    .confirms('q', 'allow', { grant: { argument: 'path', pattern: '*' } })
    .confirms('p', 'allow')
    .fulfils('p');
  session.finishesBatch().observes([call('c3', 'permissions_check', { tool_name: 'asks', arguments: { path: 'b' } })]);
  assert.equal(answerOf('c3').decision, 'allow');
  return session.settlesBatch().answers('you may').ended('completed');
}
