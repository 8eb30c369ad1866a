// A session with content in every part that is digested separately.
import { Recorder, blob, call, say } from './recorder.mjs';
import { AGAIN, ASKS, BARRIER, ONCE, READ, TIMED, WRITE, packageOf, tool } from './tools.mjs';

const GOES_ON = tool('goes_on', { interrupt_behavior: 'continue', parallelism_hint: { parallel_safe: true } });

export function everyPart() {
  const tool_package = packageOf([READ, WRITE, ONCE, AGAIN, ASKS, TIMED, GOES_ON], [BARRIER]);
  const session = new Recorder('every-part', { tool_package });
  session.takes('HostSessionUpdated', {
    host_session: { host_session_status: 'ready', host_session_id: 'host-1', capabilities: ['browser', 'gpu'] },
  });
  session.takes('ToolOverridesSet', { scope: 'session', enable: ['barrier'] });
  session.takes('SessionConfigured', { config: { instructions: say('Be brief.'), tokens_max: 10_000 } });
  // Two pages of calls, a sealed page of the transcript, and open entries after it.
  session.runs('read all of it');
  const many = Array.from({ length: 70 }, (_, n) =>
    call(`c${n}`, n % 7 === 0 ? 'nothing' : 'read', { path: `d/${n}` }),
  );
  session.observes(many, { content: say('At once.'), usage: { input_tokens: 900, output_tokens: 90 } });
  session.shows('two pages', ({ active_tool_batch }) => active_tool_batch.pages.length === 2);
  session.starts('c69').loses('c69').starts('c69', 'bridge-2').settles('c1').settles('c69', { output: '\u2028"é"' });
  session
    .together(() => session.finishesBatch())
    .shows('a sealed page', ({ transcript }) => transcript.sealed.length === 1);
  const changes = [{ path: 'a', before: null, after_digest: blob('a').ref }];
  session.takes('UndoRequested', { call_id: 'c69', batch_id: 'batch-1', changes, workspace: 'project@1' });
  // Questions, grants, custom calls, a detached call, and calls that wait for them.
  const text = 'x'.repeat(5_000);
  session.observes(
    [
      call('q', 'asks', { path: 'a' }),
      call('t', 'timed', { path: 'a' }),
      call('g', 'goes_on'),
      { ...call('w', 'write'), arguments: undefined, arguments_ref: blob(JSON.stringify({ path: 'b', text })) },
    ].map(({ arguments: args, ...rest }) => (args === undefined ? rest : { ...rest, arguments: args })),
  );
  session.confirms('q', 'allow', { grant: { argument: 'path', pattern: 'a*' }, by: 'ann' });
  session.together(() => session.starts('g').starts('q').settles('q')).ofRun('RunSteered', { input: blob(text) });
  session.takes('FollowUpQueued', { follow_up: { input: say('and then?'), run_overrides: { turns_max: 3 } } });
  session.ofRun('user.interrupt', { input: say('something else'), by: 'ann' });
  session.shows('a call goes on', ({ detached }) => detached.length === 1).isNow('generating');
  session.ofRun('GenerateFailed', { turn: session.state.run.turn, code: 'busy', message: 'no', retryable: true });
  session.shows('a retry waits', ({ run }) => run.retry.failures === 1).passes();
  session.answers('done').ended('completed').isNow('generating');
  session.observes([call('z', 'again', {}), call('y', 'barrier', {})]).finishesBatch();
  return session.answers('that is all').ended('completed').isNow('idle');
}
