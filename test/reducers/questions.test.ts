// Calls that outlive their bridge, and calls that ask, as facts: what a lost bridge leaves, who holds a call while a person is
// asked, and what each other event does meanwhile (docs/consent.md, "Questions of calls").
import { describe, expect, test } from 'vitest';
import { callQuestionDigest } from '../../schemas/elicitation.ts';
import { ELICITATION_ANSWER_BYTES_MAX, QUESTIONS_PER_CALL_MAX, QUESTION_BYTES_MAX } from '../../schemas/limits.ts';
import { statusOf } from '../../src/core/status.ts';
import { owesBridge } from '../../src/core/owed/owing.ts';
import { asking, calling, owed, policyOf, statuses } from '../support/consent.ts';
import { FREE, ONCE, READ, WRITE, tool } from '../support/tools.ts';
import { type Session, ZERO_DIGEST, call, say } from '../support/session.ts';

/** It goes on when its run is interrupted. */
const GOES_ON = tool('goes_on', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'continue' });
/** It ends by itself, whatever happens to its run. */
const BLOCKS = tool('blocks', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'block' });
const TOOLS = [ONCE, FREE, READ, WRITE, GOES_ON, BLOCKS];
const run = (...calls: ReturnType<typeof call>[]): Session => calling(asking({}, {}, TOOLS), ...calls);
/** `o` must not run twice, and runs. */
const running = run(call('o', 'once')).started('o');
const timely = (tools = TOOLS): Session =>
  calling(asking({ approval_ttl_ms: 5_000 }, {}, tools), call('o', 'once')).started('o');
const due = (of: Session): Session => of.takes('TimeReached', { due_at_ms: of.effectsOf('wake')[0]?.at_ms ?? 0 });

describe('a noted call whose bridge is lost', () => {
  test('is queued again with its handle, although it must not run twice', () => {
    const lost = running.noted('o', 'task-7').leaseExpired('o');
    expect(lost.callState('o')).toMatchObject({
      status: 'queued',
      attempt: 2,
      owner: null,
      resume: { handle: 'task-7' },
    });
    expect(lost.effectsOf('tool.call')).toMatchObject([
      { effect_id: 'batch-1/o/2', repeatable: false, resume: { handle: 'task-7' } },
    ]);
    expect(running.leaseExpired('o').callState('o')?.status).toBe('unknown');
  });

  test('is queued again each time, with the newest handle', () => {
    const again = running.noted('o', 'a').noted('o', 'b').leaseExpired('o').started('o').leaseExpired('o');
    expect(again.callState('o')).toMatchObject({ attempt: 3, resume: { handle: 'b' } });
    const renamed = again.started('o').noted('o', 'c').leaseExpired('o');
    expect(renamed.callState('o')).toMatchObject({ attempt: 4, resume: { handle: 'c' } });
  });

  test('has an unknown outcome when its run is ending', () => {
    const ending = running.noted('o').cancelled().leaseExpired('o');
    expect(ending.state.run).toBe(null);
    expect(ending.transcript().at(-1)).toContain('tool! o');
  });

  test('asks again where its tool may no longer run unasked, and keeps its handle', () => {
    const policy = policyOf({ tools: { once: 'always_ask' } });
    const asks = running.noted('o', 'task-7').takes('ConsentPolicySet', { policy }).leaseExpired('o');
    expect(owed(asks)).toEqual(['agent.tool_use o']);
    expect(asks.allowed('o').effectsOf('tool.call')).toMatchObject([{ attempt: 2, resume: { handle: 'task-7' } }]);
  });
});

describe('the next attempt after a temporary failure', () => {
  const fails = (of: Session): Session =>
    of.takes('ToolCallSettled', { ...of.settlementFields('f', { outcome: 'failed' }), retryable: true });
  const free = run(call('f', 'free')).started('f');

  test('begins anew: what the failed one noted is gone', () => {
    const again = fails(free.noted('f', 'task-1'));
    expect(again.callState('f')).toMatchObject({ status: 'queued', attempt: 2 });
    expect(again.callState('f')).not.toHaveProperty('noted');
    expect(again.callState('f')).not.toHaveProperty('resume');
  });

  test('continues what the failed one was given', () => {
    const again = fails(free.noted('f', 'task-1').leaseExpired('f').started('f'));
    expect(again.callState('f')).toMatchObject({ attempt: 3, noted: 'task-1', resume: { handle: 'task-1' } });
    const answered = fails(free.asked('f', {}, 'state').elicited('f').started('f').noted('f', 'task-2'));
    expect(answered.callState('f')).toMatchObject({ resume: { answer: { action: 'accept' }, state: say('state') } });
    expect(answered.callState('f')).not.toHaveProperty('noted');
  });

  test('has no question of the failed one', () => {
    const again = fails(free.asked('f'));
    expect(again.callState('f')).not.toHaveProperty('question');
    expect(again.effectsOf('agent.elicitation')).toEqual([]);
  });
});

describe('a running call that asks', () => {
  const asks = running.asked('o', { message: 'Which one?', schema: { type: 'object' }, from: 'shop' });

  test('keeps running, and a person is asked', () => {
    expect(owed(asks)).toEqual(['agent.elicitation o', 'tool.call o']);
    const asked = { message: 'Which one?', schema: { type: 'object' }, from: 'shop' };
    expect(asks.effectsOf('agent.elicitation')).toEqual([
      {
        kind: 'agent.elicitation',
        effect_id: 'batch-1/o/1/ask-1',
        session_id: asks.state.session_id,
        batch_id: 'batch-1',
        call_id: 'o',
        attempt: 1,
        tool_id: 'once',
        tool_name: 'once',
        question: callQuestionDigest(asked, 1),
        asked,
      },
    ]);
    expect([statusOf(asks.state), owesBridge(asks.state)]).toEqual(['requires_action', true]);
  });

  test('gets the answer through the bridge that holds it', () => {
    const answered = asks.elicited('o', 'accept', { content: { size: 'XL' }, by: 'Ada' });
    expect(answered.effectsOf('tool.answer')).toMatchObject([
      {
        effect_id: 'batch-1/o/1/answer-1',
        owner: 'bridge-1',
        question: asks.callState('o')?.question?.digest,
        answer: { action: 'accept', content: { size: 'XL' } },
      },
    ]);
    expect(owed(answered)).toEqual(['tool.call o', 'tool.answer o']);
    expect(statusOf(answered.state)).toBe('running');
    expect(owed(answered.settled('o'))).toEqual(['batch.settle']);
  });

  test('asks one question at a time, and each has a digest and ids of its own', () => {
    expect(asks.refusal('ToolCallAsked', { ...asks.attemptFields('o'), question: { message: 'and?' } }).code).toBe(
      'question_open',
    );
    const again = asks.elicited('o').asked('o', { message: 'Which one?', schema: { type: 'object' }, from: 'shop' });
    expect(again.effectsOf('tool.answer')).toEqual([]);
    expect(again.effectsOf('agent.elicitation')).toMatchObject([{ effect_id: 'batch-1/o/1/ask-2' }]);
    expect(again.callState('o')?.question?.digest).not.toBe(asks.callState('o')?.question?.digest);
    const late = { ...asks.elicitedFields('o'), action: 'accept' } as const;
    expect(again.refusal('user.elicitation_result', late).code).toBe('question_mismatch');
  });

  test('is lost with its bridge, and so is the question', () => {
    const lost = asks.leaseExpired('o');
    expect(lost.callState('o')?.status).toBe('unknown');
    expect(owed(lost)).toEqual(['batch.settle']);
    const noted = running.noted('o', 'task-7').asked('o').leaseExpired('o');
    expect(noted.callState('o')).toMatchObject({ status: 'queued', resume: { handle: 'task-7' }, questions: 1 });
    expect(owed(noted)).toEqual(['tool.call o']);
    expect(noted.started('o').asked('o').effectsOf('agent.elicitation')[0]?.effect_id).toBe('batch-1/o/2/ask-2');
  });

  test('settles without an answer, and then nobody is asked', () => {
    const settled = asks.settled('o');
    expect(settled.callState('o')).toMatchObject({ status: 'succeeded' });
    expect(owed(settled)).toEqual(['batch.settle']);
    expect(settled.refusal('user.elicitation_result', { ...asks.elicitedFields('o'), action: 'accept' })).toMatchObject(
      {
        code: 'call_already_settled',
      },
    );
  });

  test('is asked about while its run is paused, too', () => {
    const paused = asks.paused();
    expect(owed(paused)).toEqual(['agent.elicitation o', 'tool.call o']);
    expect(owed(paused.elicited('o', 'decline'))).toEqual(['tool.call o', 'tool.answer o']);
  });

  test('reads that the question was withdrawn when it is to be stopped', () => {
    const denied = asks.takes('ConsentPolicySet', { policy: policyOf({ tools: { once: 'deny' } }) });
    expect(owed(denied)).toEqual(['tool.cancel o', 'tool.call o', 'tool.answer o']);
    expect(denied.effectsOf('tool.answer')[0]?.answer).toEqual({ action: 'cancel' });
    expect(denied.refusal('ToolCallAsked', { ...denied.attemptFields('o'), question: { message: 'x' } }).code).toBe(
      'call_not_running',
    );
  });

  test('reads the same when its run ends, so that a call which ends by itself does not wait for a person', () => {
    const blocks = run(call('b', 'blocks')).started('b').asked('b').interrupted();
    expect([blocks.phase(), ...owed(blocks)]).toEqual(['interrupting', 'tool.answer b']);
    expect(blocks.settled('b').state.run).toBe(null);
    expect(owed(asks.cancelled())).toEqual(['tool.cancel o', 'tool.answer o']);
  });

  test('reads the same when it is detached, after its run has ended', () => {
    const detached = run(call('g', 'goes_on')).started('g').asked('g').interrupted();
    expect(detached.state.run).toBe(null);
    expect(detached.effectsOf('tool.answer')).toMatchObject([{ call_id: 'g', answer: { action: 'cancel' } }]);
    const { batch_id, attempt } = detached.state.detached?.[0] ?? {};
    const gone = detached.takes('LeaseExpired', { batch_id: `${batch_id}`, call_id: 'g', attempt: attempt ?? 0 });
    expect(gone.effects()).toEqual([]);
  });
});

describe('a call whose attempt ends with a question', () => {
  const left = running.asked('o', {}, 'state-1');

  test('is held by no bridge, and waits for the person', () => {
    expect(left.callState('o')).toMatchObject({ status: 'waiting', attempt: 1, owner: null });
    expect(owed(left)).toEqual(['agent.elicitation o']);
    expect([statusOf(left.state), owesBridge(left.state)]).toEqual(['requires_action', false]);
  });

  test('continues with its state and the answer', () => {
    const answered = left.elicited('o', 'accept', { content: { n: 1 } });
    expect(answered.effectsOf('tool.call')).toMatchObject([
      { attempt: 2, resume: { answer: { action: 'accept', content: { n: 1 } }, state: say('state-1') } },
    ]);
    expect(answered.effectsOf('tool.call')[0]?.resume).not.toHaveProperty('handle');
    expect(answered.started('o').settled('o').callState('o')?.status).toBe('succeeded');
    expect(left.elicited('o', 'decline').effectsOf('tool.call')[0]?.resume?.answer).toEqual({ action: 'decline' });
  });

  test('continues with its handle as well, when it has one', () => {
    const answered = running.noted('o', 'task-7').asked('o', {}, 'state-1').elicited('o');
    expect(answered.callState('o')?.resume).toEqual({
      answer: { action: 'accept' },
      handle: 'task-7',
      state: say('state-1'),
    });
    // What was given is given again, because nobody knows whether it was used.
    expect(answered.started('o').leaseExpired('o').callState('o')?.resume).toHaveProperty('answer');
  });

  test('is no question about a permission, and no answer about one fits it', () => {
    const answer = { ...left.answerFields('o'), result: 'allow' } as const;
    expect(left.refusal('user.tool_confirmation', answer)).toMatchObject({ code: 'not_confirmable' });
    const both = calling(
      asking({ tools: { once: 'always_ask' } }, {}, TOOLS),
      call('o', 'once'),
      call('p', 'once', { n: 1 }),
    )
      .allowed('o')
      .started('o')
      .asked('o', {}, 'state-1');
    const granted = both.allowed('p', { grant: {} });
    expect(granted.callState('o')).toMatchObject({ status: 'waiting' });
    expect(both.refusal('user.elicitation_result', { ...both.elicitedFields('p'), action: 'accept' }).code).toBe(
      'question_not_open',
    );
  });

  test('takes no report of the attempt that is over', () => {
    expect(left.refusal('ToolCallSettled', left.settlementFields('o')).code).toBe('waits_for_person');
    expect(left.refusal('LeaseExpired', left.attemptFields('o')).code).toBe('waits_for_person');
    const answered = left.elicited('o');
    const settlement = answered.settlementFields('o', { attempt: 1 });
    expect(answered.refusal('ToolCallSettled', settlement).code).toBe('stale_attempt');
  });

  test('ends when its tool is denied meanwhile; the model reads that it was not tried again', () => {
    const denied = left.takes('ConsentPolicySet', { policy: policyOf({ tools: { once: 'deny' } }) });
    expect(statuses(denied)).toEqual(['rejected']);
    expect(denied.callState('o')?.output).toMatchObject({
      text: expect.stringContaining('An earlier attempt') as string,
    });
  });

  test('is not asked about when its tool was denied before it asked', () => {
    const policy = policyOf({ tools: { blocks: 'deny' } });
    const denied = run(call('b', 'blocks')).started('b').takes('ConsentPolicySet', { policy });
    expect(statuses(denied)).toEqual(['running']);
    const asked = denied.asked('b', {}, 'state-1');
    expect(statuses(asked)).toEqual(['rejected']);
    expect(owed(asked)).toEqual(['batch.settle']);
    expect(statuses(denied.asked('b'))).toEqual(['running']);
  });

  test('asks for a permission before its next attempt where one is needed by then', () => {
    const policy = policyOf({ tools: { once: 'always_ask' } });
    const asks = left.takes('ConsentPolicySet', { policy });
    expect(owed(asks)).toEqual(['agent.elicitation o']);
    const answered = asks.elicited('o', 'accept', { content: { n: 1 } });
    expect(owed(answered)).toEqual(['agent.tool_use o']);
    expect(answered.allowed('o').effectsOf('tool.call')).toMatchObject([
      { attempt: 2, resume: { answer: { content: { n: 1 } } } },
    ]);
  });

  test('is cancelled with its run', () => {
    expect(left.interrupted().state.run).toBe(null);
    expect(left.cancelled().transcript().at(-1)).toContain('tool! o');
  });

  test('is not started in a pause, and its question is answered', () => {
    const paused = left.paused().elicited('o');
    expect(paused.effects()).toEqual([]);
    expect(owed(paused.resumed())).toEqual(['tool.call o']);
  });
});

describe('a question that nobody answers in time', () => {
  test('is answered with cancel, whoever holds the call', () => {
    const asks = timely().asked('o');
    expect(asks.effectsOf('agent.elicitation')[0]?.due_at_ms).toBe(asks.state.updated_at_ms + 5_000);
    expect(due(asks).effectsOf('tool.answer')).toMatchObject([{ answer: { action: 'cancel' } }]);
    const left = due(timely().asked('o', {}, 'state-1'));
    expect(left.callState('o')).toMatchObject({ attempt: 2, resume: { answer: { action: 'cancel' } } });
    expect([due(asks), left].map((of) => of.effectsOf('wake'))).toEqual([[], []]);
  });

  test('has its next attempt judged by what is allowed then', () => {
    const policy = policyOf({ tools: { once: 'always_ask' }, approval_ttl_ms: 5_000 });
    const late = due(timely().asked('o', {}, 'state-1').takes('ConsentPolicySet', { policy }));
    expect(owed(late)).toEqual(['agent.tool_use o', 'wake']);
  });

  test('does not keep a run from its limit', () => {
    const limited = calling(asking({}, { wall_ms_max: 3_000 }, TOOLS), call('o', 'once'))
      .started('o')
      .asked('o');
    const ended = due(limited);
    expect([ended.phase(), ...owed(ended)]).toEqual(['cancelling', 'tool.cancel o', 'tool.answer o']);
  });
});

describe('reports and answers that do not fit', () => {
  const asks = running.asked('o', { schema: { type: 'object' } });

  test('only a running call notes and asks', () => {
    const queued = run(call('o', 'once'));
    for (const [kind, fields] of [
      ['ToolCallNoted', { handle: 'task' }],
      ['ToolCallAsked', { question: { message: 'x' } }],
    ] as const) {
      expect(queued.refusal(kind, { ...queued.attemptFields('o'), ...fields }).code).toBe('call_not_running');
      expect(running.refusal(kind, { ...running.attemptFields('o'), attempt: 2, ...fields }).code).toBe(
        'stale_attempt',
      );
    }
  });

  test('an answer names the attempt and the question', () => {
    const fields = { ...asks.elicitedFields('o'), action: 'accept' } as const;
    expect(asks.refusal('user.elicitation_result', { ...fields, attempt: 2 }).code).toBe('stale_attempt');
    expect(asks.refusal('user.elicitation_result', { ...fields, question: ZERO_DIGEST }).code).toBe(
      'question_mismatch',
    );
    expect(running.refusal('user.elicitation_result', fields).code).toBe('question_not_open');
    const twice = asks.elicited('o');
    expect(twice.refusal('user.elicitation_result', fields).code).toBe('question_not_open');
  });

  test('its content fits the schema, only accept has one, and it is bounded', () => {
    const fields = asks.elicitedFields('o');
    const refused = (rest: object): unknown => asks.refusal('user.elicitation_result', { ...fields, ...rest } as never);
    expect(refused({ action: 'decline', content: {} })).toMatchObject({ code: 'answer_invalid', path: '/content' });
    const verdict = { valid: false, path: '/n', message: 'must be a number' };
    expect(refused({ action: 'accept', content: { n: 'x' }, content_verdict: verdict })).toEqual({
      code: 'answer_invalid',
      path: '/content/n',
      message: 'must be a number',
    });
    const room = ELICITATION_ANSWER_BYTES_MAX - JSON.stringify({ action: 'accept', content: { n: '' } }).length;
    expect(refused({ action: 'accept', content: { n: 'x'.repeat(room + 1) } })).toMatchObject({ code: 'too_large' });
    expect(asks.elicited('o', 'accept', { content: { n: 'x'.repeat(room) } }).effectsOf('tool.answer')).toHaveLength(1);
  });

  test('a question is bounded, and so is the number of questions of a call', () => {
    const ask = (note: string) => ({ ...running.attemptFields('o'), question: { message: 'm', schema: { note } } });
    const room = QUESTION_BYTES_MAX - JSON.stringify(ask('').question).length;
    expect(running.refusal('ToolCallAsked', ask('x'.repeat(room + 1))).code).toBe('too_large');
    expect(running.takes('ToolCallAsked', ask('x'.repeat(room))).callState('o')?.questions).toBe(1);
    let many = running;
    for (let count = 0; count < QUESTIONS_PER_CALL_MAX; count += 1)
      many = many.asked('o', {}, 's').elicited('o').started('o');
    expect(many.refusal('ToolCallAsked', { ...many.attemptFields('o'), question: { message: 'm' } }).code).toBe(
      'questions_exhausted',
    );
  });
});
