// Sessions about the life cycle of a run: its start, its control and its end.
import { Recorder, call, say } from './recorder.mjs';
import { AGAIN, BARRIER, ONCE, READ, WRITE, packageOf } from './tools.mjs';

export function runControl() {
  const config = { instructions: say('Be brief.') };
  const session = new Recorder('run-control', { tool_package: packageOf([READ, WRITE]), config });
  session.runs('look at a', { cause: { kind: 'direct', note: 'typed' } }).isNow('generating');
  session
    .ofRun('RunPaused')
    .isNow('paused_generating')
    .ofRun('RunSteered', { input: say('and at b') });
  session.observes([call('c1', 'read', { path: 'a' }), call('c2', 'write', { path: 'a' })]).isNow('paused_executing');
  session.ofRun('RunResumed').starts('c1').ofRun('RunPaused').settles('c1');
  session.takes('FollowUpQueued', { follow_up: { input: say('then rest'), run_overrides: { model: 'small' } } });
  session.takes('SessionConfigured', { config: { model: 'large', output_tokens_max: 1_000 } });
  session.ofRun('RunResumed').settles('c2').settlesBatch().isNow('generating');
  session.shows('the steer entered', (state) => state.transcript.open.at(-1).content.text === 'and at b');
  session
    .ofRun('RunSteered', { input: say('wait') })
    .answers('done')
    .isNow('generating');
  session
    .ofRun('RunCompleted', { output: say('good enough') })
    .ended('completed')
    .isNow('generating');
  session.shows('the follow-up runs', ({ run }) => run.cause.kind === 'follow_up' && run.config.model === 'small');
  session.ofRun('GenerateFailed', { turn: 1, code: 'provider_error', message: 'it said no' }).isNow('idle');
  session.ended('failed', 'provider_error').takes('FollowUpQueued', { follow_up: { input: say('again') } });
  return session
    .shows('the new config', ({ run }) => run.config.model === 'large')
    .answers('rested')
    .isNow('idle');
}

export function interruptedBatch() {
  const session = new Recorder('interrupted-batch', { tool_package: packageOf([READ, ONCE, BARRIER]) });
  session
    .runs('four things')
    .observes([
      call('running', 'read', { path: 'a' }),
      call('willing', 'once', { n: 1 }),
      call('settled', 'once', { n: 2 }),
      call('queued', 'barrier'),
    ]);
  session.starts('running').together(() => session.starts('willing').settles('settled'));
  session.takes('FollowUpQueued', { follow_up: { input: say('next') } });
  session.ofRun('user.interrupt', { reason: 'typed something else' }).isNow('interrupting');
  session.calls({ running: 'running', willing: 'running', settled: 'succeeded', queued: 'cancelled' });
  session.settles('willing', { result: { success: false, needsFollowup: true }, outcome: 'cancelled' });
  session.settles('running').ended('interrupted').isNow('generating').ofRun('user.interrupt').ended('interrupted');
  // An interrupted run that is cancelled before its calls settle.
  session
    .runs('once more')
    .observes([call('slow', 'read', { path: 'b' })])
    .starts('slow');
  session.together(() => session.ofRun('user.interrupt').ofRun('RunCancelled', { reason: 'now' }));
  session.isNow('cancelling');
  return session.settles('slow').ended('cancelled').isNow('idle');
}

export function cancelledBatch() {
  const session = new Recorder('cancelled-batch', { tool_package: packageOf([READ, ONCE, AGAIN]) });
  session.runs('three things').takes('FollowUpQueued', { follow_up: { input: say('never starts') } });
  session.observes([
    call('lost', 'once', { n: 1 }),
    call('lost-repeatable', 'again', { n: 2 }),
    call('late', 'read', { path: 'a' }),
    call('queued', 'read', { path: 'b' }),
  ]);
  session.together(() => session.starts('lost').starts('lost-repeatable').starts('late'));
  session.ofRun('RunCancelled', { reason: 'no more' }).isNow('cancelling');
  session.loses('lost').calls({ lost: 'unknown', queued: 'cancelled' });
  session.loses('lost-repeatable').calls({ 'lost-repeatable': 'cancelled' });
  session.settles('late').ended('cancelled').isNow('idle');
  session.shows('the follow-up waits', (state) => state.follow_ups.length === 1);
  session
    .runs('give up')
    .observes([call('c1', 'read')])
    .starts('c1');
  // The end of the run and the settlement of its last call are one commit.
  session.together(() => {
    session.ofRun('RunFailed', { code: 'gave_up', message: 'too hard' }).isNow('cancelling');
    session.settles('c1', { result: { success: false, error: 'stopped' }, code: 'stopped', duration_ms: 12 });
  });
  return session.ended('failed', 'gave_up').runs('nothing runs').ofRun('RunCancelled').isNow('idle');
}

export function runLimits() {
  const session = new Recorder('run-limits', { tool_package: packageOf([READ]), config: { turns_max: 2 } });
  session.runs('two turns');
  for (const path of ['a', 'b']) session.observes([call(path, 'read', { path })]).finishesBatch();
  session.ended('failed', 'turns_exceeded').runs('two calls', { run_overrides: { calls_max: 2, turns_max: 9 } });
  const usage = { input_tokens: 120, output_tokens: 34 };
  session.observes([call('c1', 'read', { path: 'a' })], { usage }).finishesBatch();
  session.observes([call('c2', 'read', { path: 'b' }), call('c3', 'read', { path: 'c' })], { usage });
  return session.ended('failed', 'calls_exceeded').isNow('idle');
}

export function repeatedCall() {
  const config = { repeats_max: 3 };
  const session = new Recorder('repeated-call', { tool_package: packageOf([READ, WRITE]), config });
  const again = (id) => call(id, 'read', { path: 'a', lines: [1, 2] });
  session
    .runs('look')
    .observes([again('c1')])
    .finishesBatch();
  // The same arguments in another key order are the same call.
  session.observes([call('c2', 'read', { lines: [1, 2], path: 'a' }), again('c3')]).refused('repeated_call');
  session
    .finishesBatch()
    .observes([call('c4', 'write', { path: 'a' })])
    .finishesBatch();
  session
    .observes([again('c5'), again('c6'), again('c7')])
    .refused('repeated_call')
    .finishesBatch();
  return session
    .observes([again('c8')])
    .ended('failed', 'repeated_call')
    .isNow('idle');
}

export function steerableCompletion() {
  const config = { completion: 'steerable' };
  const session = new Recorder('steerable-completion', { tool_package: packageOf([ONCE, AGAIN]), config });
  const failed = { success: false, error: 'no such thing', message: 'it is not there', detail: { tried: 2 } };
  session.runs('one').observes([call('c1', 'once')]);
  session.settles('c1', { result: { ...failed, needsFollowup: true }, code: 'not_found' }).settlesBatch();
  session.isNow('generating').observes([call('c2', 'once', { n: 2 }), call('c3', 'again')]);
  session.settles('c3').settles('c2', { result: failed }).settlesBatch().ended('failed', 'terminal_result');
  session.runs('two').observes([call('c4', 'once')]);
  session.settles('c4', { result: { success: true, terminal: true, nextAction: 'stop', data: { n: 1 } } });
  session
    .settlesBatch()
    .ended('completed')
    .runs('three', { run_overrides: { completion: 'continue' } });
  session
    .observes([call('c5', 'once')])
    .settles('c5', { result: failed })
    .settlesBatch();
  return session.isNow('generating').answers('it is not there').ended('completed');
}
