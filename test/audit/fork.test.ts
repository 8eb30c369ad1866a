// Forks share their first events with their source, have separate streams, and repeat nothing on their own.
import { isLeft } from 'fp-ts/lib/Either.js';
import { beforeAll, describe, expect, test } from 'vitest';
import {
  type CommitRecord,
  versionAfter,
  type RecordedEvent,
  type SessionState,
  type StreamRecord,
  type ToolSpec,
  brand,
} from '../../schemas/index.ts';
import { decideConsent } from '../../reducers/consent.ts';
import { rulesOf } from '../../reducers/rules/known-rules.ts';
import { codedText, errorText, ruleText } from '../../reducers/rules/rule-set.ts';
import { type ForkEnd, effects, newForker, newLineageCheck, replay, stateBytes } from '../../src/core/index.ts';
import { roundsOf, randomFrom } from '../support/random.ts';
import { Session, call, session } from '../support/session.ts';
import { CONSENT_TOOLS, asking, calling, policyOf } from '../support/consent.ts';
import { PERSON, WRITE, tool } from '../support/tools.ts';
import { walk } from '../support/streams.ts';
import { chainAt, commitsIn, recordsOf } from './records.ts';
import { mustBe } from '../../src/client/must.ts';

type Run = 'pause' | 'go' | 'end';

interface Forked extends ForkEnd {
  readonly at: number;
  readonly records: readonly StreamRecord[];
}

const AT_MS = 9_000_000;
const FORK = brand<'SessionId'>('the-fork');

/** Takes the source up to the commit that contains the fork point. */
function fork(source: readonly StreamRecord[], at: number, run: Run = 'pause'): Forked {
  const forker = newForker({ session_id: FORK, at, chain: chainAt(source, at), run, at_ms: AT_MS });
  const needed = source.filter((record) => record.kind !== 'commit' || record.position < at);
  const records = needed.flatMap((record) => mustBe(forker.add(record)) ?? []);
  const end = mustBe(forker.finish());
  return { ...end, at, records: [...records, ...end.commits] };
}

const eventsOf = (records: readonly StreamRecord[]): readonly RecordedEvent[] =>
  commitsIn(records).flatMap(({ events }) => events);
const sizesOf = (records: readonly StreamRecord[]): readonly number[] =>
  commitsIn(records).map(({ events }) => events.length);
/** The kinds of the events that only the fork has. */
const kindsOf = ({ records, at }: Forked): readonly string[] =>
  eventsOf(records)
    .slice(at)
    .map(({ kind }) => kind);
/** The first fault of the lineage. Records are given side by side. */
function lineageOf(source: readonly StreamRecord[], fork: readonly StreamRecord[]) {
  const genesis = fork.find((record) => record.kind === 'genesis');
  if (genesis === undefined) throw new Error('no genesis record');
  const check = newLineageCheck(genesis.genesis);
  for (let index = 0; check.add(source[index] ?? null, fork[index] ?? null);) index += 1;
  return check.fault();
}
const statuses = ({ active_tool_batch: batch }: SessionState): readonly (readonly [string, string, string | null])[] =>
  (batch?.pages.flat() ?? []).map(({ status, code }, index) => [batch?.observed[index]?.call_id ?? '', status, code]);
const stateText = (state: SessionState): string => new TextDecoder().decode(stateBytes(state));

/** A batch with calls in every state: settled, running and queued, of tools that may and must not run twice. */
const midBatch: Session = session({ session_id: 'source' })
  .runRequested()
  .observed([
    call('done', 'write', { path: 'a' }),
    call('once-running', 'write', { path: 'b' }),
    call('again-running', 'read', { path: 'c' }),
    call('once-queued', 'write', { path: 'd' }),
    call('again-queued', 'read', { path: 'e' }),
  ])
  .started('done')
  .settled('done')
  .started('once-running')
  .started('again-running');

describe('a fork during a batch', () => {
  const source = recordsOf(midBatch);

  test('writes the texts of its rules', () => {
    const at = midBatch.events.length;
    const written = (run: Run): string => JSON.stringify(fork(source, at, run).records);
    const rules = rulesOf(midBatch.state);
    const text = errorText(rules, codedText(rules, 'forked', { at }));
    expect(written('pause')).toContain(JSON.stringify({ text }));
    expect(written('end')).toContain(JSON.stringify(ruleText(rules, 'forked.run', { at })));
  });

  test('settles the calls that must not run twice, and queues the others again', () => {
    const forked = fork(source, 6);
    expect(kindsOf(forked)).toEqual(['RunPaused', 'LeaseExpired', 'LeaseExpired', 'ToolCallSettled']);
    expect(statuses(forked.state)).toEqual([
      ['done', 'succeeded', null],
      ['once-running', 'unknown', 'outcome_unknown'],
      ['again-running', 'queued', null],
      ['once-queued', 'cancelled', 'forked'],
      ['again-queued', 'queued', null],
    ]);
    expect(forked.state.run?.phase).toBe('paused_executing');
  });

  test('owes no call while paused; with `go`, only those that may run twice', () => {
    const owed = (run: Run): readonly string[] =>
      effects(fork(source, 6, run).state).flatMap((effect) => (effect.kind === 'tool.call' ? [effect.call_id] : []));
    expect(owed('pause')).toEqual([]);
    expect(owed('go')).toEqual(['again-running', 'again-queued']);
  });

  test('with `end`, has no run, and each call has a result for the model', () => {
    const forked = fork(source, 6, 'end');
    expect(kindsOf(forked)).toEqual(['RunCancelled', 'LeaseExpired', 'LeaseExpired']);
    expect(forked.state.run).toBeNull();
    expect(forked.state.transcript.open.filter(({ role }) => role === 'tool')).toHaveLength(5);
  });

  test('continues after a resume: its calls run and the model is asked again', () => {
    const { state } = fork(source, 6);
    const resumed = new Session(midBatch, midBatch.events, state)
      .resumed()
      .settled('again-running', { attempt: 2 })
      .settled('again-queued')
      .batchSettled()
      .answered('done');
    expect(resumed.ending()).toMatchObject({ outcome: 'completed' });
  });

  test('names its source in its genesis record, and is deterministic', () => {
    const [, genesis] = fork(source, 4).records;
    expect(genesis).toMatchObject({
      genesis: { session_id: FORK, forked_from: { session_id: 'source', position: 4, chain: chainAt(source, 4) } },
    });
    expect(fork(source, 4).records).toEqual(fork(source, 4).records);
  });

  test('of a fork contains the added events of both', () => {
    const first = fork(source, 6);
    const second = fork(first.records, eventsOf(first.records).length);
    expect(replay(second.records).divergence).toBeNull();
    const ids = eventsOf(second.records).map(({ event_id }) => event_id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe('a fork inside a commit', () => {
  // Positions 0..5 in three commits of two events.
  const source = recordsOf(midBatch, [2, 2, 2]);

  test('keeps the whole commits, and commits the shared rest anew with its own first facts', () => {
    const forked = fork(source, 5);
    expect(sizesOf(forked.records)).toEqual([2, 2, 1 + kindsOf(forked).length]);
    expect(eventsOf(forked.records).slice(0, 5)).toEqual(midBatch.events.slice(0, 5));
    expect(kindsOf(forked)[0]).toBe('RunPaused');
    expect(replay(forked.records).divergence).toBeNull();
  });

  test('has the state of a fork of the same events in any commits', () => {
    for (const sizes of [[], [6], [1, 5], [4, 2]]) {
      const other = fork(recordsOf(midBatch, sizes), 5);
      const { genesis_digest: _, ...state } = fork(source, 5).state;
      expect({ ...other.state, genesis_digest: '' }).toMatchObject({ ...state, genesis_digest: '' });
      expect(replay(other.records).divergence).toBeNull();
    }
  });

  test('names the chain value after the last whole commit, and no other is accepted', () => {
    expect(fork(source, 5).records[1]).toMatchObject({
      genesis: { forked_from: { position: 5, chain: (source[3] as CommitRecord).chain } },
    });
    expect(fork(source, 1).records[1]).toMatchObject({ genesis: { forked_from: { chain: chainAt(source, 0) } } });
    const order = { session_id: FORK, at: 5, chain: chainAt(source, 6), run: 'pause' as const, at_ms: AT_MS };
    const forker = newForker(order);
    for (const record of source) forker.add(record);
    expect(forker.finish()).toMatchObject({ left: { code: 'damaged' } });
  });

  test('has a lineage that shows events moved to another commit of the source', () => {
    const forked = fork(source, 5).records;
    expect(lineageOf(source, forked)).toBeNull();
    expect(lineageOf(recordsOf(midBatch, [3, 1, 2]), forked)).toMatchObject({ position: 2 });
    expect(lineageOf(recordsOf(midBatch, [1, 1, 2, 2]), forked)).toMatchObject({ position: 1 });
  });
});

describe('a fork while people act', () => {
  test('does not undo what its source was asked to undo', () => {
    const digest = `sha256:${'2'.repeat(64)}`;
    const undoing = session({ session_id: 'source' })
      .runRequested()
      .observed([call('w', 'write', { path: 'a' })])
      .started('w')
      .settled('w')
      .batchSettled()
      .answered('done')
      .takes('UndoRequested', {
        call_id: 'w',
        batch_id: 'batch-1',
        changes: [{ path: 'a', before: null, after_digest: digest }],
      });
    expect(undoing.effectsOf('call.undo')).toHaveLength(1);
    for (const run of ['pause', 'go', 'end'] as const) {
      const forked = fork(recordsOf(undoing), undoing.events.length, run);
      expect(kindsOf(forked)).toEqual(['UndoSettled']);
      expect(eventsOf(forked.records).at(-1)).toMatchObject({
        success: false,
        message: 'The undo was requested in the session that this one was forked from.',
      });
      expect(effects(forked.state)).toEqual([]);
    }
  });

  test('leaves calls that wait for a person waiting', () => {
    const asked = session({ session_id: 'source' })
      .runRequested()
      .observed([call('ask', 'asks'), call('person', PERSON.tool_name)]);
    const { state } = fork(recordsOf(asked), 2);
    expect(statuses(state).map(([, status]) => status)).toEqual(['waiting', 'queued']);
  });
});

describe('what a person gave in the source counts there alone:', () => {
  /** A call whose first attempt failed for a passing reason. */
  const retried = (of: Session, id: string): Session => {
    const report = of.settlementFields(id, { outcome: 'failed' });
    return of.takes('ToolCallSettled', { ...report, retryable: true, jitter_permille: 1_000 });
  };
  /** Asks, may run again, and claims nothing. */
  const AGAIN = tool('again', {
    permission_policy: 'always_ask',
    idempotent: true,
    parallelism_hint: { parallel_safe: true },
  });
  const HAND = tool('hand', {
    permission_policy: 'always_ask',
    ownership: 'custom',
    executor: { kind: 'custom' },
    parallelism_hint: WRITE.parallelism_hint,
  });
  const ask = (...calls: readonly ReturnType<typeof call>[]): Session =>
    calling(
      asking({}, { retry: { attempts_max: 3, base_ms: 1_000, cap_ms: 9_000 } }, [...CONSENT_TOOLS, AGAIN, HAND]),
      ...calls,
    );
  const RUNS = ['pause', 'go', 'end'] as const;
  const forkOf = (of: Session, run: Run): Forked => fork(recordsOf(of), of.events.length, run);
  /** The fork, goes on after a pause. */
  const resumed = (of: Session, run: Run): Session => {
    const on = new Session(of, of.events, forkOf(of, run).state);
    return on.state.run?.phase.startsWith('paused_') === true ? on.resumed() : on;
  };
  const owedIn = (of: Session): readonly string[] =>
    of.effects().flatMap((effect) => ('call_id' in effect ? [`${effect.kind} ${effect.call_id}`] : [effect.kind]));

  const one = call('a', 'again');
  const ALLOWED: readonly (readonly [string, Session, readonly string[]])[] = [
    ['a call that has not started', ask(one).allowed('a'), ['cancelled']],
    ['a call that runs', ask(one).allowed('a').started('a'), ['cancelled']],
    ['a call whose next attempt waits for its time', retried(ask(one).allowed('a').started('a'), 'a'), ['cancelled']],
    ['a custom call', ask(call('h', 'hand', { path: 'x' })).allowed('h'), ['failed']],
    [
      'a changed call of the open batch',
      ask(call('b', 'again')).denied('b', { instead: one }).batchSettled(),
      ['cancelled'],
    ],
  ];

  test.each(ALLOWED)('the approval of %s', (_what, source, due) => {
    for (const run of ['pause', 'go'] as const) {
      const { state } = forkOf(source, run);
      expect(statuses(state).map(([, status]) => status)).toEqual(due);
      expect(owedIn(resumed(source, run))).toEqual(['batch.settle']);
      expect(resumed(source, run).batchSettled().effects()[0]?.kind).toBe('llm.generate');
    }
    expect(forkOf(source, 'end').state.run).toBeNull();
  });

  test('a changed call that is made when its batch ends: the run of the fork ends', () => {
    const source = ask(call('b', 'again'), call('q', 'asks')).denied('b', { instead: one });
    for (const run of RUNS) {
      const forked = forkOf(source, run);
      expect(kindsOf(forked)).toEqual(['RunCancelled']);
      expect(forked.state.run).toBeNull();
      expect(forked.state.run_history.at(-1)?.ending.message).toContain('a person had allowed a call');
    }
    // Once it is made, nothing of it is left.
    const made = source.denied('q').batchSettled().started('a').settled('a').batchSettled();
    expect(kindsOf(forkOf(made, 'go'))).toEqual([]);
  });

  test('the approval of a custom call that waits for a question, which no one can answer yet: the run ends', () => {
    const source = ask(call('w', 'asks_write', { path: 'x' }), call('h', 'hand', { path: 'x' })).allowed('h');
    expect(source.effectsOf('agent.custom_tool_use')).toEqual([]);
    for (const run of RUNS) expect(forkOf(source, run).state.run).toBeNull();
    const asked = ask(call('w', 'asks_write', { path: 'x' }), call('h', 'hand', { path: 'x' }));
    expect(owedIn(resumed(asked, 'pause'))).toEqual(['agent.tool_use w', 'agent.tool_use h']);
  });

  test('an attempt of the source is gone on with in no fork, also where a person would be asked first', () => {
    const noted = ask(call('f', 'free')).started('f').noted('f', 'task-7');
    const policy = policyOf({ tools: { free: 'always_ask' } });
    const waits = noted.takes('ConsentPolicySet', { policy }).leaseExpired('f');
    expect(owedIn(waits)).toEqual(['agent.tool_use f']);
    for (const [source, due] of [
      [noted.leaseExpired('f'), 'cancelled'],
      [waits, 'denied'],
    ] as const) {
      expect(source.callState('f')).toMatchObject({ attempt: 2, resume: { handle: 'task-7' } });
      for (const run of ['pause', 'go'] as const) {
        const forked = resumed(source, run);
        expect(statuses(forked.state).map(([, status]) => status)).toEqual([due]);
        expect(owedIn(forked)).toEqual(['batch.settle']);
        expect(forked.batchSettled().transcript().at(-1)).toContain('fork');
      }
    }
  });

  test('a grant: what it allowed asks, and so does every later call', () => {
    const two = ask(one, call('b', 'again'), call('h', 'hand', { path: 'x' }), call('n', 'asks'));
    const source = two.allowed('a', { grant: {} }).started('a').settled('a');
    expect(owedIn(source)).toContain('tool.call b');
    for (const run of ['pause', 'go'] as const) {
      const forked = resumed(source, run);
      expect(forked.state.consent).toEqual({ ...source.state.consent, grants: [] });
      expect(owedIn(forked)).toEqual(['agent.tool_use b', 'agent.tool_use h', 'agent.tool_use n']);
    }
    expect(forkOf(source, 'end').state.consent.grants).toEqual([]);
  });

  test('nothing is written where nothing was given', () => {
    const asked = ask(one, call('n', 'asks'), call('f', 'free'));
    expect(kindsOf(forkOf(asked, 'pause'))).toEqual(['RunPaused']);
    expect(kindsOf(forkOf(asked, 'go'))).toEqual([]);
  });
});

describe('forks of random streams at random positions', () => {
  interface Cut {
    readonly source: readonly StreamRecord[];
    readonly at: number;
    readonly run: Run;
    readonly forked: Forked;
  }

  let cuts: readonly Cut[];
  beforeAll(() => {
    cuts = Array.from({ length: roundsOf(6, 120) }, (_, seed) => {
      const random = randomFrom(seed);
      const story = walk(seed, 60).session;
      const source = recordsOf(
        story,
        Array.from({ length: 60 }, () => 1 + random.below(4)),
      );
      const at = random.below(story.events.length + 1);
      return (['pause', 'go', 'end'] as const).map((run) => ({ source, at, run, forked: fork(source, at, run) }));
    }).flat();
  });

  test('replay byte-identically and begin with the events of their source', () => {
    for (const { source, at, forked } of cuts) {
      const { records, state } = forked;
      const replayed = replay(records);
      expect(replayed.divergence).toBeNull();
      expect(stateText(replayed.state as SessionState)).toBe(stateText(state));
      expect(eventsOf(records).slice(0, at)).toEqual(eventsOf(source).slice(0, at));
      // Whole commits stay as they are.
      const whole = commitsIn(source).filter((commit) => versionAfter(commit) <= at);
      expect(sizesOf(records).slice(0, whole.length)).toEqual(whole.map(({ events }) => events.length));
    }
  });

  test('run no call of their source, and queue none that must not run twice', () => {
    let open = 0;
    for (const { run, forked } of cuts) {
      const { state } = forked;
      const batch = state.active_tool_batch;
      expect(state.undos).toBeUndefined();
      if (run === 'end') expect(state.run).toBeNull();
      if (run === 'pause')
        expect(['idle', 'paused_opening', 'paused_generating', 'paused_executing']).toContain(
          state.run?.phase ?? 'idle',
        );
      for (const [index, { status }] of (batch?.pages.flat() ?? []).entries()) {
        open += 1;
        expect(status).not.toBe('running');
        const planned = batch?.plan.planned_calls.find(({ call_id }) => call_id === batch.observed[index]?.call_id);
        // A custom call is answered by a person, in the fork as in the source.
        if (status === 'queued') expect(planned?.repeatable === true || planned?.executor.kind === 'custom').toBe(true);
      }
    }
    expect(open).toBeGreaterThan(5);
  });

  test('owe nothing that the policy asks about and that a person allowed in their source', () => {
    let asks = 0;
    for (const { run, forked } of cuts) {
      const { state } = forked;
      expect(state.consent.grants).toEqual([]);
      expect(state.run?.amended).toBeUndefined();
      if (run === 'end') continue;
      for (const owed of effects(withoutPause(state))) {
        if (owed.kind === 'agent.tool_use') asks += 1;
        if (owed.kind !== 'tool.call' && owed.kind !== 'agent.custom_tool_use') continue;
        const spec = state.tool_registry[owed.tool_id] as ToolSpec;
        expect(decideConsent(state.consent, spec, owed.arguments ?? null).decision).toBe('allow');
      }
    }
    expect(asks).toBeGreaterThan(0);
  });

  test('have a valid lineage, which breaks at the first changed event', () => {
    for (const { source, at, forked } of cuts) {
      const { records } = forked;
      expect(lineageOf(source, records)).toBeNull();
      if (at === 0) continue;
      const changed = source.map((record) =>
        record.kind === 'commit'
          ? {
              ...record,
              events: record.events.map((event, index) =>
                record.position + index === at - 1 ? { ...event, event_id: brand<'EventId'>('another') } : event,
              ),
            }
          : record,
      );
      expect(lineageOf(changed, records)).toMatchObject({ position: at - 1 });
      const last = source.findLastIndex((record) => record.kind === 'commit' && record.position < at);
      expect(lineageOf(source.slice(0, last), records)).not.toBeNull();
    }
  });
});

/** The state as if its run had never been paused. */
function withoutPause(state: SessionState): SessionState {
  const { run } = state;
  return run?.phase === 'paused_executing' ? { ...state, run: { ...run, phase: 'executing' } } : state;
}

describe('what cannot be forked', () => {
  const source = recordsOf(midBatch);
  const order = { session_id: FORK, run: 'pause' as const, at_ms: AT_MS };

  test('a source that does not verify is refused at its first bad position', () => {
    const forker = newForker({ ...order, at: 6, chain: chainAt(source, 6) });
    const bent = source.with(4, { ...(source[4] as CommitRecord), chain: chainAt(source, 2) });
    const answers = bent.map((record) => forker.add(record));
    expect(answers.map((answer) => answer._tag).slice(0, 5)).toEqual(['Right', 'Right', 'Right', 'Right', 'Left']);
    expect(answers[4]).toMatchObject({ left: { code: 'damaged', message: expect.stringContaining('position 2') } });
  });

  test('a chain value that the source does not have there, and a position beyond its end', () => {
    const wrong = newForker({ ...order, at: 2, chain: chainAt(source, 3) });
    for (const record of source.slice(0, 4)) wrong.add(record);
    expect(wrong.finish()).toMatchObject({ left: { code: 'damaged' } });
    const early = newForker({ ...order, at: 5, chain: chainAt(source, 5) });
    for (const record of source.slice(0, 4)) early.add(record);
    const answer = early.finish();
    expect(isLeft(answer) && answer.left.code).toBe('position_unknown');
  });
});
