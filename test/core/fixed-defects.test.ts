// Regression tests for defects of the fold that an adversarial review found.
import { isLeft, isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import {
  type Branded,
  type IngressEvent,
  type ToolCallObserved,
  SessionState,
  ToolCall,
  brand,
  checkJson,
  decode,
  flag,
  list,
  parseJson,
} from '../../schemas/index.ts';
import { RUN_TRANSITIONS, planBatch, step, stepNew } from '../../src/core/index.ts';
import { batchTools } from '../support/batches.ts';
import { type Session, call, eventOf, say, session } from '../support/session.ts';

const codecAccepts = (of: Session): boolean =>
  isRight(decode(SessionState, JSON.parse(JSON.stringify(of.state)) as unknown));

describe('opening a host session', () => {
  test('a fact without a status does not fail a run because an older session was closed', () => {
    const waiting = session({ config: { host_session_open: true } })
      .host({ host_session_status: 'closed' })
      .runRequested();
    expect(waiting.phase()).toBe('opening');
    expect(waiting.host({ capabilities: ['net'] }).phase()).toBe('opening');
  });

  test('a host session that is not ready has no expiry time', () => {
    const closed = session().host({ host_session_status: 'closed', expires_at_ms: 5_000 });
    expect(closed.state.tool_runtime_context.host_session_expires_at_ms).toBeNull();
  });
});

describe('paused between two turns, when no generate is owed yet', () => {
  const paused = session()
    .runRequested()
    .observed([call('a', 'free')])
    .settled('a')
    .paused()
    .batchSettled();

  test('an unrequested answer is refused', () => {
    expect(paused.state.run).toMatchObject({ phase: 'paused_generating', offer: null });
    const answer = { ...paused.turnFields(), calls: [call('b', 'free', { n: 2 })] };
    expect(paused.refusal('ToolCallsObserved', answer)).toMatchObject({ code: 'wrong_phase' });
    const failure = { ...paused.turnFields(), code: 'timeout', message: 'late' };
    expect(paused.refusal('GenerateFailed', failure)).toMatchObject({ code: 'wrong_phase' });
  });

  test('a steer enters the generate that becomes owed on resume', () => {
    const resumed = paused.steered('left').resumed();
    expect(resumed.effectsOf('llm.generate')).toHaveLength(1);
    expect(resumed.transcript().at(-1)).toBe('user left');
    expect(resumed.state.run?.steers).toEqual([]);
  });
});

describe('the transcript', () => {
  test('an id generated for a duplicate call is not used by another call of the batch', () => {
    const done = session()
      .runRequested()
      .observed([call('a', 'free'), call('a~2', 'free', { n: 1 }), call('a', 'free', { n: 2 })])
      .batchDone();
    const ids = done.state.transcript.open.flatMap(({ call_id }) => (call_id === undefined ? [] : [call_id]));
    expect(new Set(ids).size).toBe(3);
  });
});

describe('every state fits its codec', () => {
  test('with long verdicts on invalid arguments', () => {
    const arguments_verdict = { valid: false, message: 'm'.repeat(1_024), path: `/${'p'.repeat(1_023)}` };
    const run = session()
      .runRequested()
      .observed([call('a', 'free', {}, { arguments_verdict })]);
    expect(codecAccepts(run)).toBe(true);
  });

  test('with any number of tokens a provider reports', () => {
    const usage = { input_tokens: Number.MAX_SAFE_INTEGER, output_tokens: 0 };
    const first = session()
      .runRequested()
      .next('ToolCallsObserved', {
        run_id: 'run-1',
        turn: 1,
        calls: [call('a', 'free')],
        usage,
      });
    const stepped = step(session().runRequested().state, first);
    if (isLeft(stepped)) return;
    const twice = session()
      .runRequested()
      .observed([call('a', 'free')], { usage })
      .batchDone()
      .observed([call('b', 'free')], { usage });
    expect(codecAccepts(twice)).toBe(true);
  });
});

describe('a step never throws', () => {
  const { state } = session().runRequested();

  test('for a list with holes', () => {
    const holes: ToolCallObserved[] = [];
    holes.length = 2;
    const sparse = eventOf('ToolCallsObserved', { run_id: 'run-1', turn: 1, calls: holes });
    expect(stepNew(state, sparse)).toMatchObject({ left: { code: 'invalid_shape', path: '/calls/0' } });
    expect(list(flag, 3).is(holes)).toBe(false);
  });

  test('for a kind that is not a JSON value', () => {
    const cyclic: Record<string, unknown> = {};
    cyclic['self'] = cyclic;
    for (const kind of [10n, cyclic]) {
      expect(step(state, { kind } as unknown as IngressEvent)).toMatchObject({ left: { code: 'unknown_kind' } });
    }
  });
});

describe('paths point into the input (RFC 6901)', () => {
  test.each([
    ['/run_overrides/tool_profile', 'RunRequested', { input: say('x'), run_overrides: { tool_profile: 'no' } }],
    ['/tools/enable/0', 'RunRequested', { input: say('x'), tools: { enable: ['no'], disable: [], force: [] } }],
    [
      '/follow_up/tools/force/0',
      'FollowUpQueued',
      { follow_up: { input: say('x'), tools: { enable: [], disable: [], force: ['no'] } } },
    ],
    ['/config/tool_profile', 'SessionConfigured', { config: { tool_profile: 'no' } }],
  ] as const)('%s', (path, kind, fields) => {
    expect(session().refusal(kind, fields as never)).toMatchObject({ path });
  });

  test('an empty key is a segment', () => {
    const decoded = decode(ToolCall, { id: 'a', name: 'b', arguments: {}, '': 1 });
    expect(decoded).toMatchObject({ left: { path: '/' } });
  });

  test('a duplicate key has its path', () => {
    expect(parseJson('{"a":[0,{"b":1,"b":2}]}')).toMatchObject({ left: { path: '/a/1/b' } });
  });
});

describe('the value domain', () => {
  test('an array with a named field is refused', () => {
    expect(checkJson(Object.assign([1], { note: 'lost' }))).toMatchObject({ _tag: 'Left' });
  });
});

test('a follow-up does not start a run that names no provider', () => {
  const ended = session()
    .runRequested()
    .followUp('next')
    .takes('SessionConfigured', { config: { provider: ' ' } })
    .answered('done');
  expect(ended.phase()).toBe('idle');
  expect(ended.ending()).toMatchObject({ outcome: 'failed', code: 'provider_missing' });
});

describe('the planner uses the arguments, not claims about them', () => {
  test('claims next to inline arguments do not narrow their claims', () => {
    const calls = [call('a', 'write', { path: 'x' }, { claims: [] }), call('b', 'write', { path: 'x' })];
    expect(planBatch(batchTools(), calls).execution_plan.after).toEqual({ a: [], b: ['a'] });
  });

  test('arguments in different blobs have different digests', () => {
    const inBlob = (id: string): ToolCallObserved => {
      const ref: Branded<'Digest'> = brand(`sha256:${id.repeat(64)}`);
      return {
        call_id: brand<'CallId'>(id),
        tool_name: 'free',
        arguments_ref: { ref, bytes: 9_000, head: '', tail: '' },
      };
    };
    const { planned_calls } = planBatch(batchTools(), [inBlob('1'), inBlob('2')]);
    expect(new Set(planned_calls.map(({ arguments_digest }) => arguments_digest)).size).toBe(2);
  });
});

test('the table of the run lists only reachable phases', () => {
  const { GenerateFailed, RunCancelled, RunFailed } = RUN_TRANSITIONS.generating;
  const seen = new Set<string>();
  for (const waits of [false, true]) {
    const plain = session().runRequested();
    const run = waits ? plain.followUp('next') : plain;
    for (const after of [run.generateFailed(), run.cancelled(), run.failed()]) seen.add(after.phase());
  }
  // After a failed or cancelled run no waiting follow-up starts.
  expect([...seen]).toEqual(['idle']);
  // A temporary failure is the exception: the run continues.
  expect([GenerateFailed, RunCancelled, RunFailed]).toEqual([['generating', 'idle'], ['idle'], ['idle']]);
});
