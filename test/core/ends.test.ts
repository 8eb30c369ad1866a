// What a recorded event says about its own fold: the runs that it ends, and the digest of the results that it closes.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { FOLLOW_UPS_MAX, RUN_HISTORY_MAX } from '../../schemas/limits.ts';
import { Ingress, IngressEvent, type RunEnd, canonicalText, decode, digest } from '../../schemas/index.ts';
import { resultsDigest, step } from '../../src/core/index.ts';
import { roundsOf } from '../support/random.ts';
import { type Session, call, recorded, session } from '../support/session.ts';
import { walk } from '../support/streams.ts';

const lastOf = ({ events }: Session): IngressEvent => events.at(-1) as IngressEvent;
const endsOf = (of: Session): readonly RunEnd[] | undefined => lastOf(of).ends;
const end = (run_id: string, outcome: string, code: string | null = null, message: string | null = null) => [
  { run_id, outcome, code, message },
];

const running = (): Session =>
  session()
    .runRequested()
    .observed([call('a', 'once'), call('b', 'free')])
    .started('a');

describe('the event that ends a run says so', () => {
  const cases: Readonly<Record<string, readonly [Session, string, unknown]>> = {
    'an answer without calls': [
      session().runRequested().answered('done'),
      'ToolCallsObserved',
      end('run-1', 'completed'),
    ],
    'the report of the harness': [session().runRequested().completed('x'), 'RunCompleted', end('run-1', 'completed')],
    'a failure': [session().runRequested().failed('no', 'hard'), 'RunFailed', end('run-1', 'failed', 'no', 'hard')],
    'a cancel without running calls': [
      session().runRequested().cancelled('enough'),
      'RunCancelled',
      end('run-1', 'cancelled', null, 'enough'),
    ],
    'the last settlement after a cancel': [
      running().cancelled('enough').settled('a'),
      'ToolCallSettled',
      end('run-1', 'cancelled', null, 'enough'),
    ],
    'the last lost call after an interrupt': [
      running().interrupted('stop').leaseExpired('a'),
      'LeaseExpired',
      end('run-1', 'interrupted', null, 'stop'),
    ],
    'the end of a batch with a terminal result': [
      running()
        .settled('b')
        .settled('a', { result: { success: true, terminal: true } })
        .batchSettled(),
      'ToolBatchSettled',
      end('run-1', 'completed'),
    ],
    'a generate that failed': [
      session().runRequested().generateFailed('provider_error', 'no'),
      'GenerateFailed',
      end('run-1', 'failed', 'provider_error', 'no'),
    ],
  };

  test.each(Object.entries(cases))('%s', (_, [ended, kind, ends]) => {
    expect(lastOf(ended).kind).toBe(kind);
    expect(endsOf(ended)).toEqual(ends);
    expect(ended.state.run_history.at(-1)?.run_id).toBe('run-1');
  });

  test('a time that is reached', () => {
    const bounded = session().runRequested({ wall_ms_max: 10 });
    const [wake] = bounded.effectsOf('wake');
    const over = bounded.takes('TimeReached', { due_at_ms: wake?.at_ms ?? 0 });
    expect(endsOf(over)).toMatchObject([{ run_id: 'run-1', outcome: 'failed' }]);
  });

  test('and no other event does', () => {
    const events = [...running().events, ...running().cancelled().events];
    expect(events.filter((event) => 'ends' in event)).toEqual([]);
  });

  test('with every run that it ends, in order: a follow-up that cannot start ends with the run before it', () => {
    let run = session().runRequested();
    for (let count = 0; count < FOLLOW_UPS_MAX; count += 1) {
      run = run.followUp(`then ${count}`, { run_overrides: { tool_profile: 'few' } });
    }
    const gone = run.takes('ToolRegistrySet', {
      registry: run.tool_package.registry,
      profiles: run.tool_package.profiles.filter(({ profile_id }) => profile_id !== 'few'),
      provider_profiles: run.tool_package.provider_profiles,
    });
    const ends = endsOf(gone.answered('done')) ?? [];
    expect(ends.map(({ run_id }) => run_id)).toEqual(
      Array.from({ length: RUN_HISTORY_MAX }, (_, at) => `run-${at + 1}`),
    );
    expect(ends.map(({ outcome }) => outcome)).toEqual(['completed', ...Array(FOLLOW_UPS_MAX).fill('failed')]);
    expect(new Set(ends.slice(1).map(({ code }) => code))).toEqual(new Set(['profile_unknown']));
  });
});

describe('a recorded event', () => {
  const before = session().runRequested();
  const { event } = recorded(before.state, before.next('RunCompleted', { run_id: 'run-1' }));
  const { ends: _ends, ...silent } = event;

  test.each([
    ['does not say that it ends a run', silent],
    ['names another run', { ...event, ends: end('run-2', 'completed') }],
    ['names another outcome', { ...event, ends: end('run-1', 'failed') }],
    ['names a run twice', { ...event, ends: [...end('run-1', 'completed'), ...end('run-1', 'completed')] }],
  ])('is refused when it %s', (_, given) => {
    expect(step(before.state, given as IngressEvent)).toMatchObject({
      left: { code: 'ending_mismatch', path: '/ends' },
    });
  });

  test('is refused when it claims to end a run and does not', () => {
    const paused = { ...before.next('RunPaused', { run_id: 'run-1' }), ends: end('run-1', 'completed') };
    expect(step(before.state, paused as never)).toMatchObject({ left: { code: 'ending_mismatch' } });
    expect(recorded(before.state, paused as never).event).not.toHaveProperty('ends');
    expect(isLeft(decode(IngressEvent, { ...paused, ends: [] }))).toBe(true);
  });

  test('is folded as it was recorded', () => {
    const stepped = step(before.state, event);
    expect(stepped).toMatchObject({ _tag: 'Right', right: { state: { run: null } } });
    expect(canonicalText(event)).toBe(JSON.stringify(event));
  });

  test('is what says it: a request must not', () => {
    const { v: _v, at_ms: _at, ...request } = event;
    expect(decode(Ingress, request)).toMatchObject({ left: { code: 'invalid_shape', path: '/ends' } });
  });
});

test('events of random streams say exactly what their fold ends', () => {
  let ended = 0;
  for (let seed = 1; seed <= roundsOf(15, 300); seed += 1) {
    walk(seed, 120, (before, event, after) => {
      if (after === null) return;
      const started = Math.max(0, after.state.runs_started - (after.state.run === null ? 0 : 1));
      const was = Math.max(0, before.state.runs_started - (before.state.run === null ? 0 : 1));
      expect(event.ends?.length ?? 0).toBe(started - was);
      ended += started - was;
      if (event.kind === 'ToolBatchSettled') expect(event.results_digest).toMatch(/^sha256:/);
    });
  }
  expect(ended).toBeGreaterThan(30);
});

describe('the end of a batch has the digest of its results', () => {
  const open = session()
    .runRequested()
    .observed([call('a', 'once'), call('z', 'nope'), call('b', 'read')])
    .settled('b', { output: 'second' })
    .settled('a', { success: false, code: 'no_luck', output: 'first' });

  test('in call order, rejected calls among them', () => {
    const rejected = open.callState('z');
    const results = [
      { call_id: 'a', code: 'no_luck', output: { text: 'first' }, status: 'failed' },
      { call_id: 'z', code: 'tool_unknown', output: rejected?.output, status: 'rejected' },
      { call_id: 'b', code: null, output: { text: 'second' }, status: 'succeeded' },
    ];
    const closed = open.batchSettled();
    expect(lastOf(closed)).toMatchObject({ kind: 'ToolBatchSettled', results_digest: digest(results) });
    expect(resultsDigest(open.state.active_tool_batch as never)).toBe(digest(results));
  });

  test('which a request may state, and which is checked', () => {
    const results_digest = resultsDigest(open.state.active_tool_batch as never);
    expect(open.takes('ToolBatchSettled', { ...open.batchFields(), results_digest }).phase()).toBe('generating');
    const other = { ...open.batchFields(), results_digest: digest([]) };
    expect(open.refusal('ToolBatchSettled', other)).toMatchObject({
      code: 'results_mismatch',
      path: '/results_digest',
    });
  });

  test('and is not recorded without it', () => {
    const bare = open.next('ToolBatchSettled', open.batchFields());
    expect(step(open.state, bare)).toMatchObject({ left: { code: 'invalid_shape', path: '/results_digest' } });
  });

  test('and without a batch it is refused as such', () => {
    const done = open.batchSettled();
    expect(done.refusal('ToolBatchSettled', open.batchFields()).code).toBe('batch_not_active');
  });
});

test('the tools offered to a model carry their id and the digest of their definition', () => {
  const { tools = [] } = session().runRequested().effectsOf('llm.generate')[0] ?? {};
  const registry = session().state.tool_registry;
  expect(tools.length).toBeGreaterThan(0);
  for (const { tool_id, tool_ref, tool_name } of tools) {
    expect(registry[tool_id]).toMatchObject({ tool_id, tool_ref, tool_name });
  }
});
