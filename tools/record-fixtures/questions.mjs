// Sessions in which calls ask people, and in which calls outlive their bridge.
import { CONSENT_PRESETS } from '../../dist/src/toolsets/consent-presets.js';
import { Recorder, blob, call, say } from './recorder.mjs';
import { AGAIN, ONCE, packageOf, tool } from './tools.mjs';

/** It goes on when its run is interrupted. */
const GOES_ON = tool('goes_on', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'continue' });
/** It ends by itself. */
const BLOCKS = tool('blocks', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'block' });
const TOOLS = [ONCE, AGAIN, GOES_ON, BLOCKS];

/** What a running call notes and asks, and what people answer. */
class Asking extends Recorder {
  #attempt(call_id) {
    const { batch_id } = this.batch;
    return { batch_id, call_id, attempt: this.callState(call_id).attempt };
  }

  notes(call_id, handle) {
    return this.takes('ToolCallNoted', { ...this.#attempt(call_id), handle });
  }

  asks(call_id, question, resume) {
    const left = resume === undefined ? {} : { resume };
    return this.takes('ToolCallAsked', { ...this.#attempt(call_id), question, ...left });
  }

  elicits(call_id, action, rest = {}) {
    const { digest } = this.callState(call_id).question;
    return this.takes('user.elicitation_result', { ...this.#attempt(call_id), question: digest, action, ...rest });
  }
}

const SIZE = {
  message: 'Which size?',
  from: 'shop',
  schema: { type: 'object', properties: { size: { type: 'string', enum: ['S', 'XL'] } }, required: ['size'] },
};
const valid = { content_verdict: { valid: true } };

/** A policy under which questions expire. */
const timely = (rest = {}) => ({ ...CONSENT_PRESETS.allow_all, approval_ttl_ms: 60_000, ...rest });

export function asked() {
  const session = new Asking('asked', { tool_package: packageOf(TOOLS) });
  const calls = (...names) => session.observes(names.map((name, at) => call(`${name}-${at}`, name, { at })));

  // One question keeps its call running; the other ends its attempt, and the next one gets the answer.
  session.runs('order a shirt');
  calls('once', 'once', 'again');
  session.starts('once-0').starts('once-1').starts('again-2');
  session.asks('once-0', SIZE).asks('once-1', { message: 'Sign in?', url: 'https://shop.example/in' }, say('page 1'));
  session.asks('again-2', { message: 'Go on?' }, blob(`state ${'x'.repeat(5_000)}`));
  session.owes('agent.elicitation', 'once-0', 'once-1', 'again-2').calls({ 'once-0': 'running', 'once-1': 'waiting' });
  session.elicits('once-0', 'accept', { content: { size: 'XL' }, ...valid, by: 'ann' }).owes('tool.answer', 'once-0');
  session.elicits('once-1', 'decline', { by: 'ann' }).elicits('again-2', 'cancel');
  session.shows(
    'the next attempt gets state and answer',
    () => session.callState('once-1').resume.answer.action === 'decline',
  );
  // The same words again are another question.
  session
    .asks('once-0', SIZE)
    .owes('tool.answer')
    .elicits('once-0', 'accept', { content: { size: 'S' }, ...valid });
  session.settles('once-0').settles('once-1');
  session
    .starts('again-2')
    .loses('again-2')
    .shows('a lost attempt gets them again', () => 'state' in session.callState('again-2').resume);
  session.settles('again-2').settlesBatch();

  // A question of a call that is lost, that settles, and that waits through a pause.
  calls('once', 'once', 'once');
  for (const id of ['once-0', 'once-1', 'once-2']) session.starts(id).asks(id, SIZE);
  session
    .loses('once-0')
    .settles('once-1', { result: { success: false, needsFollowup: true }, outcome: 'failed', code: 'busy' });
  session
    .ofRun('RunPaused')
    .owes('agent.elicitation', 'once-2')
    .elicits('once-2', 'accept', { content: { size: 'S' }, ...valid });
  session.ofRun('RunResumed').settles('once-2').calls({ 'once-0': 'unknown' }).settlesBatch();

  // Questions that expire; a next attempt that needs a permission by then, and one that is denied while it asks.
  session.takes('ConsentPolicySet', { policy: timely() });
  calls('once', 'once', 'again', 'once');
  session.starts('once-0').starts('once-1').starts('again-2').starts('once-3');
  session
    .asks('once-0', SIZE)
    .asks('once-1', SIZE, say('page 2'))
    .asks('again-2', SIZE, say('page 3'))
    .asks('once-3', SIZE);
  session.takes('ConsentPolicySet', { policy: timely({ tools: { once: 'always_ask', again: 'deny' } }) });
  session.calls({ 'again-2': 'rejected' }).passes().owes('tool.answer', 'once-0').passes();
  session
    .owes('agent.tool_use', 'once-1')
    .passes()
    .confirms('once-1', 'allow')
    .settles('once-0')
    .settles('once-1')
    .settles('once-3');
  session.takes('ConsentPolicySet', { policy: timely({ tools: { once: 'deny' } }) }).settlesBatch();

  // One that runs is denied, so its question is withdrawn; the end of a run withdraws the others.
  session.takes('ConsentPolicySet', { policy: timely() });
  calls('once', 'goes_on', 'blocks', 'again');
  for (const id of ['once-0', 'goes_on-1', 'blocks-2', 'again-3']) session.starts(id);
  session.asks('once-0', SIZE).asks('goes_on-1', SIZE).asks('blocks-2', SIZE).asks('again-3', SIZE, say('page 4'));
  session.takes('ConsentPolicySet', { policy: timely({ tools: { once: 'deny' } }) }).owes('tool.answer', 'once-0');
  session.ofRun('user.interrupt', { input: say('rather a hat') }).isNow('interrupting');
  session.owes('tool.answer', 'once-0', 'blocks-2', 'goes_on-1').settles('once-0', {
    result: { success: false, needsFollowup: true },
    outcome: 'cancelled',
    code: 'cancelled',
  });
  session.settles('blocks-2').isNow('generating').owes('tool.answer', 'goes_on-1');
  return session.answers('a hat, then').ended('completed');
}

export function taskResumed() {
  const session = new Asking('task-resumed', { tool_package: packageOf(TOOLS) });
  const handleOf = (id) => session.callState(id).resume?.handle;
  session.runs('render a film').observes([call('film', 'once'), call('sound', 'again'), call('cut', 'once', { n: 2 })]);
  // The handle outlives the bridge, twice; a newer one replaces it.
  session.starts('film').notes('film', 'task-1').starts('sound').notes('sound', 'task-2').starts('cut');
  session.loses('film').loses('sound').loses('cut').calls({ film: 'queued', sound: 'queued', cut: 'unknown' });
  session
    .starts('film', 'bridge-2')
    .loses('film')
    .shows('the handle stays', () => handleOf('film') === 'task-1');
  session.starts('film', 'bridge-2').notes('film', 'task-1b').loses('film');
  session.shows('the newest one counts', () => handleOf('film') === 'task-1b');
  // A task that asks: the next attempt has handle, state and answer, and so has the one after a loss.
  session.starts('film').asks('film', { message: 'Which cut?' }, say('round 1')).owes('agent.elicitation', 'film');
  session
    .elicits('film', 'accept', { content: { cut: 'long' } })
    .starts('film')
    .loses('film');
  session.shows('nothing of it is lost', () => Object.keys(session.callState('film').resume).length === 3);
  // A question that keeps the call running goes with the bridge; the task does not.
  session
    .starts('film')
    .asks('film', { message: 'Subtitles?' })
    .loses('film')
    .owes('agent.elicitation')
    .settles('film');
  // A temporary failure: what was given is given again; what the attempt began itself is not.
  const failed = {
    result: { success: false },
    outcome: 'failed',
    code: 'busy',
    retryable: true,
    jitter_permille: 1_000,
  };
  session
    .settles('sound', failed)
    .passes()
    .shows('it waits for the same task', () => handleOf('sound') === 'task-2');
  session.settles('sound').settlesBatch();
  session.observes([call('score', 'again'), call('print', 'once')]);
  session.starts('score').notes('score', 'task-3').settles('score', failed).passes();
  session.shows('it begins anew', () => session.callState('score').resume === undefined).settles('score');
  // In a run that ends, a lost call is not continued.
  session.starts('print').notes('print', 'task-4').ofRun('RunCancelled').loses('print');
  return session.isNow('idle').ended('cancelled');
}
