// Sessions about turns of a model: why it stopped, what else it said, and conversations that are compacted.
import { Recorder, blob, call, say } from './recorder.mjs';
import { READ, WRITE, packageOf } from './tools.mjs';

const parts = (list) => say(JSON.stringify(list));
const stop = (reason, word) => ({ stop: { reason, ...(word === undefined ? {} : { word }) } });

export function modelTurns() {
  const tool_package = {
    ...packageOf([READ, WRITE]),
    provider_profiles: [
      { provider_contains: 'host', model_contains: 'claude', profile_id: 'all' },
      { provider_contains: '', profile_id: 'all' },
    ],
  };
  const config = { reasoning: { effort: 'low', tokens_max: 500 }, parallel_calls: true };
  const session = new Recorder('model-turns', { tool_package, config });
  const asked = { tool_choice: { tool: 'read' }, temperature: 0.25, provider: 'host', model: 'claude-x' };
  session.runs('read a', { run_overrides: asked });
  const usage = { input_tokens: 90, output_tokens: 20, cached_tokens: 60, cache_write_tokens: 10, reasoning_tokens: 5 };
  const thinking = JSON.stringify({ type: 'thinking', thinking: 'a first', signature: 'x\ud800' });
  session.observes([call('c1', 'read', { path: 'a' }, { provider_call_id: 'functions.read:0' })], {
    content: say('I look.'),
    usage,
    ...stop('calls', 'tool_use'),
    layout: {
      api: 'anthropic.messages',
      model: 'claude-x-1',
      parts: parts([{ item: thinking }, { text: 7, with: '{"citations":[12345678901234567890]}' }, { call: 0 }]),
    },
  });
  session.finishesBatch().observes([], { ...stop('paused', 'pause_turn'), content: say('so far'), usage });
  session.isNow('generating').ofRun('RunSteered', { input: say('faster') });
  session.observes([], { ...stop('end'), content: say('') }).isNow('generating');
  const large = JSON.stringify([{ item: JSON.stringify('x'.repeat(5_000)) }, { text: 4 }]);
  const layout = { api: 'openai.responses', model: 'o', parts: blob(large) };
  session.observes([], { ...stop('end', 'completed'), content: say('done'), layout }).ended('completed');
  const lengthOf = () => session.state.transcript.count;
  session.runs('say nothing', { run_overrides: { tool_choice: 'none', reasoning: null } });
  const before = lengthOf();
  session.observes([], stop('other')).ended('completed');
  session.shows('an empty answer leaves no message', ({ transcript }) => transcript.count === before);
  for (const [reason, code] of [
    ['length', 'output_truncated'],
    ['filtered', 'content_filtered'],
    ['refusal', 'model_refused'],
  ]) {
    session
      .runs(`stop for ${reason}`)
      .observes([], { ...stop(reason), content: say('half') })
      .ended('failed', code);
    session.shows('the output is kept', ({ run_history }) => run_history.at(-1).ending.output.text === 'half');
  }
  session.runs('a cut answer with a call').observes([call('c2', 'read', { path: 'b' })], stop('length'));
  return session.finishesBatch().answers('done').ended('completed');
}

/** Plays turns with one call each; the last one has this usage. */
function works(session, turns, usage = { input_tokens: 1, output_tokens: 1 }) {
  for (let turn = 1; turn <= turns; turn += 1) {
    const id = `c${session.events}`;
    session.observes([call(id, 'read', { path: id })], {
      content: say(`turn ${turn}`),
      ...(turn === turns ? { usage } : {}),
    });
    session.finishesBatch();
  }
  return session;
}

const through = (session) => session.state.run.compact.through;

export function compaction() {
  const config = { context: { mark: 100 }, retry: { attempts_max: 2, base_ms: 1_000, cap_ms: 1_000 } };
  const session = new Recorder('compaction', { tool_package: packageOf([READ, WRITE]), config });
  const above = { input_tokens: 100, output_tokens: 1 };
  const owed = (run) => run?.compact?.answered === false;
  works(session.runs('long work'), 4, above).shows('the open page is sealed early', ({ run, transcript }) => {
    return owed(run) && transcript.open.length === 0 && transcript.sealed.length === 1;
  });
  session.ofRun('RunSteered', { input: say('and b') });
  const usage = { input_tokens: 80, output_tokens: 20 };
  session.ofRun('ContextCompacted', { turn: 5, through: through(session), summary: say('It read four files.'), usage });
  session.shows('the summary stands for nine messages', ({ transcript }) => transcript.summary.count === 9);
  session.shows('the steer follows it', ({ transcript }) => transcript.open.length === 1);
  // The mark is passed again; the compaction fails for a passing reason, then for good, and the run goes on.
  works(session, 4, above);
  const failed = { turn: 9, code: 'provider_retryable', message: 'busy', retryable: true, jitter_permille: 1_000 };
  session
    .ofRun('CompactFailed', failed)
    .passes()
    .ofRun('CompactFailed', { ...failed, retry_after_ms: 5 });
  session.shows('the generate is owed', ({ run }) => !owed(run) && run.offer !== null);
  // It is too long for the model: compacted once more, in a pause.
  session.ofRun('GenerateFailed', { turn: 9, code: 'context_length', message: 'too long' }).ofRun('RunPaused');
  const long = 'It read eight files. '.repeat(300);
  session.ofRun('ContextCompacted', { turn: 10, through: through(session), summary: blob(long) });
  session.ofRun('RunResumed').shows('all is in the summary', ({ transcript }) => transcript.sealed.length === 0);
  session.observes([], { content: say('done'), usage: above }).ended('completed');
  // The next run begins above the mark: nothing but its input stays. It is interrupted, and goes on.
  works(session.runs('more'), 3).ofRun('user.interrupt', { input: say('rather c') });
  session.answers('done').ended('completed');
  session.runs('too long').ofRun('GenerateFailed', { turn: 1, code: 'context_length', message: 'too long' });
  session.shows('a compaction is owed', ({ run }) => owed(run));
  session.ofRun('CompactFailed', { turn: 2, code: 'no_summary', message: 'it is empty' });
  return session.ended('failed', 'context_length').isNow('idle');
}
