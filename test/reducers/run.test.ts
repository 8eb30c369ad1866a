// The run loop: causes, follow-ups, steering, pause, interrupt, cancel, failure, guards (AOS P7, "Run/Turn Loop
// Ownership").
import { describe, expect, test } from 'vitest';
import { FOLLOW_UPS_MAX, RUN_HISTORY_MAX, STEERS_MAX } from '../../schemas/limits.ts';
import { type Session, call, session } from '../support/session.ts';

const running = (...calls: Parameters<typeof call>[]): Session =>
  session()
    .runRequested()
    .observed(calls.map((made) => call(...made)));

describe('a run', () => {
  test('runs from the request through generate, batch and generate to its end', () => {
    const run = running(['a', 'free']).batchDone().answered('that is it');
    expect(run.transcript()).toEqual(['user go', 'assistant [a]', 'tool a output of a', 'assistant that is it']);
    expect(run.state.run_history).toMatchObject([
      {
        run_id: 'run-1',
        turn: 2,
        calls: 1,
        cause: { kind: 'direct' },
        ending: { outcome: 'completed', output: { text: 'that is it' } },
      },
    ]);
    expect(run.effects()).toEqual([]);
  });

  test('continues the conversation of the run before', () => {
    const second = session()
      .runRequested()
      .answered('one')
      .runRequested({}, { input: { text: 'more' } });
    expect(second.runId()).toBe('run-2');
    expect(second.transcript()).toEqual(['user go', 'assistant one', 'user more']);
  });

  test('keeps its cause', () => {
    const run = session().runRequested({}, { cause: { kind: 'event', note: 'ticket 7' } });
    expect(run.answered('ok').state.run_history[0]?.cause).toEqual({ kind: 'event', note: 'ticket 7' });
  });

  test('sums its tokens', () => {
    const usage = { input_tokens: 10, output_tokens: 3 };
    const run = session()
      .runRequested()
      .observed([call('a', 'free')], { usage })
      .batchDone()
      .observed([], { usage });
    expect(run.state.run_history[0]?.usage).toEqual({ input_tokens: 20, output_tokens: 6 });
  });

  test('must name a provider and a model', () => {
    const bare = session();
    const request = { input: { text: 'go' } };
    expect(bare.refusal('RunRequested', { ...request, run_overrides: { provider: ' ' } })).toMatchObject({
      code: 'provider_missing',
      path: '/run_overrides/provider',
    });
    expect(bare.refusal('RunRequested', { ...request, run_overrides: { model: '' } })).toMatchObject({
      code: 'model_missing',
      path: '/run_overrides/model',
    });
  });

  test('keeps its config when the session config changes', () => {
    const run = session()
      .runRequested()
      .takes('SessionConfigured', { config: { model: 'next' } });
    expect(run.state.run?.config.model).toBe('default');
    expect(run.answered('x').runRequested().state.run?.config.model).toBe('next');
  });

  test('is refused while another run is active', () => {
    expect(
      session()
        .runRequested()
        .refusal('RunRequested', { input: { text: 'again' } }),
    ).toMatchObject({ code: 'run_already_active' });
  });

  test('fails with the code of a failed generate', () => {
    expect(session().runRequested().generateFailed('context_length', 'too long').ending()).toMatchObject({
      outcome: 'failed',
      code: 'context_length',
    });
  });

  test('can be completed by the harness between turns, and failed at any time', () => {
    expect(session().runRequested().completed('enough').ending()).toMatchObject({
      outcome: 'completed',
      output: { text: 'enough' },
    });
    const busy = running(['a', 'free']);
    expect(busy.refusal('RunCompleted', { run_id: 'run-1' })).toMatchObject({ code: 'batch_open' });
    const failed = busy.failed();
    expect(failed.ending()).toMatchObject({ outcome: 'failed', code: 'gave_up' });
    expect(failed.transcript().at(-1)).toMatch(/^tool! a error: cancelled/);
  });

  test(`is one of at most ${RUN_HISTORY_MAX} in the history, with continuing numbers`, () => {
    let now = session();
    for (let count = 0; count < RUN_HISTORY_MAX + 3; count += 1) now = now.runRequested().answered('x');
    expect(now.state.run_history.map((record) => record.run_id)).toEqual(
      Array.from({ length: RUN_HISTORY_MAX }, (_, index) => `run-${index + 4}`),
    );
  });
});

describe('steering', () => {
  test('a steer enters the next generate, after the results', () => {
    const run = running(['a', 'free']).steered('hurry').batchDone();
    expect(run.transcript().slice(-2)).toEqual(['tool a output of a', 'user hurry']);
    expect(run.state.run?.steers).toEqual([]);
  });

  test('a steer that arrives during the last generate starts another turn', () => {
    const run = session().runRequested().steered('one more thing').answered('done');
    expect(run.phase()).toBe('generating');
    expect(run.transcript()).toEqual(['user go', 'assistant done', 'user one more thing']);
  });

  test(`at most ${STEERS_MAX} wait`, () => {
    let run = running(['a', 'free']);
    for (let count = 0; count < STEERS_MAX; count += 1) run = run.steered(`${count}`);
    expect(run.refusal('RunSteered', { run_id: 'run-1', input: { text: 'x' } })).toMatchObject({
      code: 'steer_queue_full',
    });
  });
});

describe('follow-ups', () => {
  test('a follow-up starts at once when no run is active', () => {
    expect(session().followUp('now').effectsOf('llm.generate')).toHaveLength(1);
  });

  test('a follow-up starts with the overrides of its request when the live run has completed', () => {
    const queued = session()
      .runRequested()
      .followUp('then', { run_overrides: { model: 'other' } });
    expect(queued.state.follow_ups).toHaveLength(1);
    const next = queued.answered('first');
    expect(next.runId()).toBe('run-2');
    expect(next.state.run).toMatchObject({ cause: { kind: 'follow_up' }, config: { model: 'other' } });
    expect(next.state.follow_ups).toEqual([]);
  });

  test('follow-ups start in the order in which they were queued, also after a run that was cancelled', () => {
    const idle = session().runRequested().followUp('first').followUp('second').cancelled();
    expect(idle.phase()).toBe('idle');
    const next = idle.followUp('third');
    expect(next.transcript().at(-1)).toBe('user first');
    expect(next.answered('1').transcript().at(-1)).toBe('user second');
    expect(next.answered('1').answered('2').transcript().at(-1)).toBe('user third');
  });

  test(`one more than ${FOLLOW_UPS_MAX} is taken when none is live, because the first of them starts`, () => {
    let run = session().runRequested();
    for (let count = 0; count < FOLLOW_UPS_MAX; count += 1) run = run.followUp(`${count}`);
    const started = run.cancelled().followUp('last');
    expect(started.transcript().at(-1)).toBe('user 0');
    expect(started.state.follow_ups).toHaveLength(FOLLOW_UPS_MAX);
  });

  test('a follow-up starts after an interrupted run and waits after a failed or cancelled one', () => {
    const queued = session().runRequested().followUp('then');
    expect(queued.interrupted().runId()).toBe('run-2');
    expect(queued.cancelled().phase()).toBe('idle');
    expect(queued.generateFailed().state.follow_ups).toHaveLength(1);
  });

  test('a follow-up that no longer fits is recorded as a failed run, and the next one starts', () => {
    const queued = session()
      .runRequested()
      .followUp('gone', { run_overrides: { tool_profile: 'few' } })
      .followUp('fine');
    const { registry, provider_profiles, profiles } = session().tool_package;
    const without = {
      registry,
      provider_profiles,
      profiles: profiles.filter((profile) => profile.profile_id !== 'few'),
    };
    const replaced = queued.takes('ToolRegistrySet', without).answered('done');
    expect(replaced.ending()).toMatchObject({ outcome: 'failed', code: 'profile_unknown' });
    expect(replaced.runId()).toBe('run-3');
    expect(replaced.transcript().at(-1)).toBe('user fine');
  });

  test(`at most ${FOLLOW_UPS_MAX} wait`, () => {
    let run = session().runRequested();
    for (let count = 0; count < FOLLOW_UPS_MAX; count += 1) run = run.followUp(`${count}`);
    expect(run.refusal('FollowUpQueued', { follow_up: { input: { text: 'x' } } })).toMatchObject({
      code: 'follow_up_queue_full',
    });
  });
});

describe('pause and resume', () => {
  test('a paused run owes no generate until it is resumed', () => {
    const paused = session().runRequested().paused();
    expect(paused.effects()).toEqual([]);
    expect(paused.resumed().effectsOf('llm.generate')).toHaveLength(1);
  });

  test('an answer of the model during a pause is accepted and planned, and no call starts', () => {
    const paused = session()
      .runRequested()
      .paused()
      .observed([call('a', 'free')]);
    expect(paused.phase()).toBe('paused_executing');
    expect(paused.effects()).toEqual([]);
    expect(paused.refusal('ToolCallStarted', { ...paused.callFields('a'), owner: 'b' })).toMatchObject({
      code: 'wrong_phase',
    });
    expect(paused.resumed().effectsOf('tool.call')).toHaveLength(1);
  });

  test('running calls settle while the run is paused', () => {
    const paused = running(['a', 'once'], ['b', 'once']).started('a').paused();
    expect(paused.effectsOf('tool.call').map((effect) => effect.call_id)).toEqual(['a']);
    expect(paused.settled('a').callState('a')?.status).toBe('succeeded');
  });

  test('the next turn is offered the tools at the time of the resume', () => {
    const paused = running(['a', 'free']).started('a').paused().settled('a').batchSettled().hostReady();
    expect(paused.state.run?.offer).toBeNull();
    expect(
      paused
        .resumed()
        .effectsOf('llm.generate')[0]
        ?.tools.map((tool) => tool.tool_name),
    ).toContain('hosted');
  });
});

describe('interrupt', () => {
  test('without running calls the run ends at once, and queued calls are cancelled', () => {
    const run = running(['a', 'free'], ['b', 'free']).settled('a').interrupted('enough');
    expect(run.ending()).toMatchObject({ outcome: 'interrupted', message: 'enough' });
    expect(run.transcript().slice(-2)).toEqual([
      'tool a output of a',
      expect.stringMatching(/^tool! b error: cancelled/),
    ]);
  });

  test('running calls settle first, and no further call starts', () => {
    const run = running(['a', 'write', { path: 'x' }], ['b', 'write', { path: 'x' }])
      .started('a')
      .interrupted();
    expect(run.phase()).toBe('interrupting');
    expect(run.callState('b')?.status).toBe('cancelled');
    expect(run.effects()).toEqual([]);
    expect(run.settled('a').ending()).toMatchObject({ outcome: 'interrupted' });
  });

  test('a call whose tool may be interrupted is asked to stop', () => {
    const run = running(['a', 'once'], ['b', 'write', { path: 'x' }])
      .started('a')
      .started('b')
      .interrupted();
    expect(run.effectsOf('tool.cancel').map((effect) => effect.call_id)).toEqual(['a']);
  });

  test('a late answer of the model is refused', () => {
    const generating = session().runRequested();
    const late = { ...generating.turnFields(), calls: [] };
    expect(generating.interrupted().refusal('ToolCallsObserved', late)).toMatchObject({ code: 'run_not_active' });
  });
});

describe('cancel', () => {
  test('running calls are owed a cancel and settle as cancelled', () => {
    const run = running(['a', 'once'], ['b', 'write', { path: 'x' }], ['c', 'free'])
      .started('a')
      .started('b')
      .cancelled('no');
    expect(run.phase()).toBe('cancelling');
    expect(run.effectsOf('tool.cancel')).toMatchObject([
      { call_id: 'a', owner: 'bridge-1' },
      { call_id: 'b', owner: 'bridge-1' },
    ]);
    const over = run.settled('a', { outcome: 'cancelled' }).settled('b', { outcome: 'cancelled' });
    expect(over.ending()).toMatchObject({ outcome: 'cancelled', message: 'no' });
    expect(over.transcript().filter((line) => line.startsWith('tool!'))).toHaveLength(3);
  });

  test('a call whose bridge is lost does not block the end', () => {
    expect(running(['a', 'once']).started('a').cancelled().leaseExpired('a').ending()).toMatchObject({
      outcome: 'cancelled',
    });
  });

  test('an interrupted run can be cancelled', () => {
    expect(running(['a', 'once']).started('a').interrupted().cancelled().phase()).toBe('cancelling');
  });
});

describe('guards', () => {
  test('the run fails when its turns are used up', () => {
    const run = session()
      .runRequested({ turns_max: 2 })
      .observed([call('a', 'free')])
      .batchDone()
      .observed([call('b', 'free', { n: 1 })])
      .batchDone();
    expect(run.ending()).toMatchObject({ outcome: 'failed', code: 'turns_exceeded' });
    expect(run.state.run_history[0]?.turn).toBe(2);
  });

  test('the run fails when a batch exceeds its calls, and each call is answered without running', () => {
    const run = session()
      .runRequested({ calls_max: 2 })
      .observed([call('a', 'free'), call('b', 'free', { n: 1 }), call('c', 'free', { n: 2 })]);
    expect(run.ending()).toMatchObject({ outcome: 'failed', code: 'calls_exceeded' });
    expect(run.transcript().filter((line) => /^tool! [abc] error: calls_exceeded/.test(line))).toHaveLength(3);
  });

  const repeat = (run: Session, id: string): Session => run.observed([call(id, 'free', { same: true })]);

  test('the same call five times in a row is answered instead of run, and a sixth ends the run', () => {
    let run = session().runRequested();
    for (const id of ['a', 'b', 'c', 'd']) run = repeat(run, id).batchDone();
    const warned = repeat(run, 'e');
    expect(warned.rejections()).toEqual({ 0: 'repeated_call' });
    expect(warned.batchSettled().transcript().at(-1)).toContain('5 times in a row');
    const ended = repeat(warned.batchSettled(), 'f');
    expect(ended.ending()).toMatchObject({ outcome: 'failed', code: 'repeated_call' });
    expect(ended.transcript().at(-1)).toMatch(/^tool! f error: repeated_call/);
  });

  test('a run continues when the model makes another call after the warning', () => {
    let run = session().runRequested({ repeats_max: 2 });
    for (const id of ['a', 'b']) run = run.observed([call(id, 'free')]).batchDone();
    expect(run.transcript().at(-1)).toMatch(/^tool! b error: repeated_call/);
    const heeded = run.observed([call('c', 'free', { n: 1 }), call('d', 'free')]);
    expect(heeded.phase()).toBe('executing');
    expect(heeded.rejections()).toEqual({});
  });

  test('another call in between resets the count', () => {
    let run = session().runRequested({ repeats_max: 2 });
    run = repeat(run, 'a').batchDone();
    run = run.observed([call('x', 'free', { other: true })]).batchDone();
    expect(repeat(run, 'b').rejections()).toEqual({});
  });

  test('completion "steerable": a failure that asks for no follow-up ends the run', () => {
    const steerable = session()
      .runRequested({ completion: 'steerable' })
      .observed([call('a', 'free'), call('b', 'free', { n: 1 })]);
    const failed = steerable
      .settled('a', { result: { success: false } })
      .settled('b')
      .batchSettled();
    expect(failed.ending()).toMatchObject({ outcome: 'failed', code: 'terminal_result' });
    const healed = steerable
      .settled('a', { result: { success: false, needsFollowup: true } })
      .settled('b')
      .batchSettled();
    expect(healed.phase()).toBe('generating');
  });

  test('completion "continue": the model sees the failure; terminal: true still ends the run', () => {
    const run = running(['a', 'free']);
    expect(run.settled('a', { success: false }).batchSettled().phase()).toBe('generating');
    expect(
      run
        .settled('a', { result: { success: true, terminal: true } })
        .batchSettled()
        .ending(),
    ).toMatchObject({ outcome: 'completed' });
  });
});
