// The laws (docs/design.md, "Laws") over random streams of plausible and invalid facts.
import { isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { newestRules } from '../../reducers/rules/known-rules.ts';
import {
  Effect,
  type EffectOfKind,
  type Genesis,
  INGRESS_KINDS,
  type IngressEvent,
  type JsonObject,
  SessionState,
  decode,
  limits,
} from '../../schemas/index.ts';
import {
  CALL_TRANSITIONS,
  computeEffectiveTools,
  effects,
  initialState,
  stateBytes,
  stateDigest,
  step,
  stepNew,
} from '../../src/core/index.ts';
import { canonicalText } from '../../schemas/canonical.ts';
import { nextDeadline } from '../../reducers/deadlines.ts';
import { transitionsOf } from '../../reducers/run-phases.ts';
import { roundsOf } from '../support/random.ts';
import { referenceStateDigest } from '../support/reference-digest.ts';
import { type Session, fold, textOf } from '../support/session.ts';
import { walk } from '../support/streams.ts';
import { mustBe } from '../../src/client/must.ts';

const seedsTo = (last: number): readonly number[] => Array.from({ length: last }, (_, index) => index + 1);
const SEEDS = seedsTo(roundsOf(6, 400));
const LENGTH = 120;

const roundTrip = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** The paths of objects whose keys are not in canonical order, with the keys. */
function outOfOrder(value: unknown, path = ''): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  const keys = Object.keys(value);
  const wrong = !Array.isArray(value) && keys.join() !== [...keys].sort().join() ? [`${path}: ${keys.join()}`] : [];
  return [...wrong, ...Object.entries(value).flatMap(([key, item]) => outOfOrder(item, `${path}/${key}`))];
}

/** Kinds that must not be accepted twice. */
const SETTLED_ONCE: ReadonlySet<string> = new Set([
  'ToolCallsObserved',
  'GenerateFailed',
  'ToolCallStarted',
  'ToolCallSettled',
  'ToolBatchSettled',
  'LeaseExpired',
  'CallPreviewed',
  'ToolCallAsked',
  'user.elicitation_result',
  'user.tool_confirmation',
  'user.custom_tool_result',
]);

type Batch = NonNullable<SessionState['active_tool_batch']>;

/** The invariants of every open batch. */
function checkBatch({ state }: Session, batch: Batch): void {
  const calls = batch.pages.flat();
  const inStatus = (status: string): number => calls.filter((call) => call.status === status).length;
  expect(calls).toHaveLength(batch.observed.length);
  expect([batch.queued, batch.running, batch.waiting ?? 0]).toEqual(['queued', 'running', 'waiting'].map(inStatus));
  expect(batch.previews ?? 0).toBe(calls.filter((call) => call.preview_until_ms !== undefined).length);
  expect(batch.questions ?? 0).toBe(calls.filter((call) => call.question !== undefined).length);
  const timed = batch.observed.flatMap(({ call_id }, index) => (timeOf(calls[index]) === undefined ? [] : [call_id]));
  expect([...(batch.timed ?? [])].sort()).toEqual([...timed].sort());
  for (const call of calls) {
    const open = ['waiting', 'queued', 'running'].includes(call.status);
    expect(call.output === null).toBe(open);
    if (!open) expect([call.due_at_ms, call.not_before_ms]).toEqual([undefined, undefined]);
    // A question may be asked before the time of the next attempt.
    expect(call.due_at_ms === undefined || call.not_before_ms === undefined || call.status === 'waiting').toBe(true);
    if (!open) expect([call.approved, call.asked, call.stopping]).toEqual([undefined, undefined, undefined]);
    checkQuestion(call, open);
    // A preview belongs to a question, and what follows from it to the answer.
    if (call.status !== 'waiting') expect([call.preview, call.preview_until_ms]).toEqual([undefined, undefined]);
    if (call.preview !== undefined) expect(call.preview_until_ms).toBeUndefined();
    if (call.previewed !== undefined) expect(['queued', 'running']).toContain(call.status);
  }
  expect(batch.plan.plan_hash).toBe(state.last_tool_plan_hash);
}

/** A question is that of a running call, or of an attempt that ended with it. What attempts leave goes with the call. */
function checkQuestion({ answer, noted, question, questions, resume, status, ...call }: CallOf, open: boolean): void {
  if (!open) expect([answer, noted, question, questions, resume]).toEqual(Array.from({ length: 5 }, () => undefined));
  if (question !== undefined) {
    expect(status).toBe(question.state === undefined ? 'running' : 'waiting');
    expect(questions).toBeGreaterThan(0);
    expect(call.preview_until_ms).toBeUndefined();
  }
  if (answer !== undefined) expect([status, question, answer.number]).toEqual(['running', undefined, questions]);
  if (resume?.answer !== undefined) expect(resume.state).toBeDefined();
}

type CallOf = Batch['pages'][number][number];

/** A time that state waits for: while a person is asked, that of the preview or of the question. */
const timeOf = (call: Batch['pages'][number][number] | undefined): number | undefined =>
  call?.preview_until_ms ?? call?.due_at_ms ?? (call?.status === 'waiting' ? undefined : call?.not_before_ms);

/** A call of the open batch with its plan and its current state. */
function callOf(batch: Batch, id: string) {
  const state = batch.pages.flat()[batch.observed.findIndex((made) => made.call_id === id)];
  const planned = batch.plan.planned_calls.find((entry) => entry.call_id === id);
  if (state === undefined || planned === undefined) throw new Error(`there is no call ${id}`);
  return { ...state, ...planned };
}

/** The effects of each open call: calls that wait for a person, a time or a shared result are not owed to a bridge. */
function checkOwed({ state }: Session, batch: Batch): void {
  const owed = effects(state);
  for (const effect of owed) {
    if (effect.kind === 'agent.tool_use') {
      expect(callOf(batch, effect.call_id).status).toBe('waiting');
      expect(effect.consent.ask).toBe('person');
      expect(callOf(batch, effect.call_id).question).toBeUndefined();
    } else if (effect.kind === 'agent.elicitation') {
      expect(callOf(batch, effect.call_id).question?.digest).toBe(effect.question);
    } else if (effect.kind === 'tool.answer') {
      const { answer, status } = callOf(batch, effect.call_id);
      expect([status, answer?.answer, answer?.question]).toEqual(['running', effect.answer, effect.question]);
    } else if (effect.kind === 'agent.custom_tool_use') {
      expect(callOf(batch, effect.call_id)).toMatchObject({ status: 'queued', executor: { kind: 'custom' } });
      expect(callOf(batch, effect.call_id)).not.toHaveProperty('shares');
    } else if (effect.kind === 'call.preview') {
      expect(callOf(batch, effect.call_id)).toMatchObject({ status: 'waiting', preview: true });
    } else if (effect.kind === 'tool.call') checkForBridge(batch, effect);
  }
  const asked = owed.filter(({ kind }) => kind === 'agent.tool_use' || kind === 'agent.elicitation').length;
  const stopping = state.run?.phase === 'interrupting' || state.run?.phase === 'cancelling';
  expect(asked).toBe(
    stopping ? 0 : batch.pages.flat().filter((call) => call.status === 'waiting' || call.question !== undefined).length,
  );
}

/** Neither the call nor the calls it waits for wait for a person, and its time has come. */
function checkForBridge(batch: Batch, { call_id, after }: EffectOfKind<'tool.call'>): void {
  const owed = callOf(batch, call_id);
  expect(owed).not.toHaveProperty('shares');
  for (const call of [owed, ...after.map((id) => callOf(batch, id))]) {
    expect(['queued', 'running']).toContain(call.status);
    expect(call.executor.kind).not.toBe('custom');
  }
  expect(owed).not.toHaveProperty('not_before_ms');
}

/** A run that is live goes on by an effect, a time, a person or a call that runs; one that is ending, by such a call alone. */
function checkGoesOn({ state, events }: Session): void {
  const { run, active_tool_batch: batch } = state;
  if (run === null) return;
  const running = batch?.pages.flat().some((call) => call.status === 'running') === true;
  const goesOn = running || run.phase.startsWith('paused_') || effects(state).length > 0;
  expect(goesOn && (run.ending === null || running), `after ${events.length} events the run is ${run.phase}`).toBe(
    true,
  );
}

/** The session after each fact that ends its run. */
function toldToEnd(of: Session): readonly Session[] {
  const run_id = of.runId();
  return [
    of.takes('RunCancelled', { run_id }),
    of.takes('RunFailed', { run_id, code: 'gave_up', message: 'no' }),
    of.takes('user.interrupt', { run_id }),
    of.takes('user.interrupt', { run_id, input: { text: 'rather this' } }),
  ];
}

/** The session after every time that it waits for now. */
function reachTimes(of: Session): Session {
  let now = of;
  for (let due = nextDeadline(now.state); due !== null; due = nextDeadline(now.state)) {
    const calls = now.state.active_tool_batch?.pages.flat().map(({ status }) => status);
    now = now.takes('TimeReached', { due_at_ms: due });
    if (now.state.run?.ending === null) break;
    // What runs goes on running.
    const after = now.state.active_tool_batch?.pages.flat().map(({ status }) => status);
    expect(after?.filter((status) => status === 'running')).toEqual(calls?.filter((status) => status === 'running'));
  }
  return now;
}

const runningIn = ({ state }: Session): readonly string[] =>
  (state.active_tool_batch?.observed ?? []).flatMap(({ call_id }, index) =>
    state.active_tool_batch?.pages.flat()[index]?.status === 'running' ? [call_id] : [],
  );

function leaseOf(of: Session, id: string) {
  const { batch_id, call_id, attempt } = of.callFields(id);
  return { batch_id, call_id, attempt };
}

describe('random streams', () => {
  test('are mostly accepted and partly refused, so they are meaningful', () => {
    const seeds = seedsTo(roundsOf(36, 400));
    const walks = seeds.map((seed) => walk(seed, LENGTH));
    const refused = walks.reduce((sum, walked) => sum + walked.refused, 0);
    const share = refused / (seeds.length * LENGTH);
    expect(share).toBeGreaterThan(0.1);
    expect(share).toBeLessThan(0.8);
    const taken = walks.flatMap(({ session }) => session.events.map((event) => event.kind));
    // Rules can be adopted only when there are later ones than the first.
    const possible = INGRESS_KINDS.filter((kind) => kind !== 'RulesAdopted' || newestRules().rules > 1);
    const seldom = possible.filter((kind) => taken.filter((other) => other === kind).length < 5);
    expect(seldom, 'kinds that hardly occur: draw them in test/support/streams.ts').toEqual([]);
  });

  test('1. replay identity: the same events, read from text, give the same bytes', () => {
    for (const seed of SEEDS) {
      const { session } = walk(seed, LENGTH);
      const again = fold(
        roundTrip({ genesis: session.genesis, tool_package: session.tool_package }),
        roundTrip(session.events),
      );
      expect(stateBytes(again)).toEqual(stateBytes(session.state));
      expect(stateDigest(again)).toBe(stateDigest(session.state));
    }
  });

  test('1. replay identity from any state on the way, as from a snapshot', () => {
    for (const seed of SEEDS.slice(0, 10)) {
      const { session } = walk(seed, 60);
      let half = roundTrip(fold(session, session.events.slice(0, 20)));
      for (const event of session.events.slice(20)) {
        half = mustBe(step(half, event)).state;
      }
      expect(textOf(half)).toBe(textOf(session.state));
    }
  });

  test('a state has its keys in canonical order when its events do, so nothing is sorted to be digested', () => {
    for (const seed of SEEDS) {
      const { session } = walk(seed, LENGTH);
      let state = initialState(JSON.parse(canonicalText(session.genesis)) as Genesis, session.tool_package);
      for (const event of session.events) {
        ({ state } = mustBe(step(state, JSON.parse(canonicalText(event)) as IngressEvent)));
        expect(
          outOfOrder(state),
          `${event.kind} leaves keys out of order: see inOrder in reducers/next-state.ts`,
        ).toEqual([]);
      }
    }
  });

  test('2. effects come from state alone: they are the same twice, and for a copy of the state', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        const owed = effects(after.state);
        expect(effects(roundTrip(after.state))).toEqual(owed);
        expect(new Set(owed.map((effect) => effect.effect_id)).size).toBe(owed.length);
        for (const effect of owed) expect(isRight(decode(Effect, roundTrip(effect)))).toBe(true);
      });
    }
  });

  test('4. an accepted report is refused when it is repeated, and the state is unchanged', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, event, after) => {
        if (after === null || !SETTLED_ONCE.has(event.kind)) return;
        expect(step(after.state, event)._tag).toBe('Left');
      });
    }
  });

  test('5. every call in the transcript is followed by exactly one result', () => {
    for (const seed of SEEDS) {
      const { session } = walk(seed, LENGTH);
      const { open } = session.state.transcript;
      const asked = open.flatMap((entry, index) =>
        (entry.calls ?? []).map((made) => [index, made.call_id as string] as const),
      );
      const stillOpen =
        session.state.active_tool_batch === null
          ? 0
          : (open.findLast((entry) => entry.calls !== undefined)?.calls?.length ?? 0);
      const closed = asked.slice(0, asked.length - stillOpen);
      const results = open.filter((entry) => entry.role === 'tool').map((entry) => entry.call_id as string);
      expect(results).toEqual(closed.map(([, id]) => id));
    }
  });

  test('5. the counts, times and effects of every open batch are consistent', () => {
    let batches = 0;
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        const batch = after?.state.active_tool_batch ?? null;
        if (after === null || batch === null) return;
        batches += 1;
        checkBatch(after, batch);
        checkOwed(after, batch);
      });
    }
    expect(batches).toBeGreaterThan(10 * SEEDS.length);
  });

  test('19. a live run owes something, waits for a time or a person, or waits for a call that runs', () => {
    let live = 0;
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        checkGoesOn(after);
        if (after.state.run !== null) live += 1;
      });
    }
    expect(live).toBeGreaterThan(10 * SEEDS.length);
  });

  test('19. a run that is told to end while calls run ends with them, whatever time is reached before', () => {
    let ended = 0;
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (before, _, after) => {
        // Where calls begin or go on to run.
        const running = after?.state.active_tool_batch?.running ?? 0;
        if (after === null || running === 0 || after.state.run?.ending !== null) return;
        if (running === before.state.active_tool_batch?.running) return;
        for (const told of toldToEnd(after)) {
          let now = reachTimes(told);
          for (const id of runningIn(now)) {
            checkGoesOn(now);
            now = now.takes('LeaseExpired', leaseOf(now, id));
          }
          checkGoesOn(now);
          expect(now.state.run?.ending ?? null).toBe(null);
          ended += 1;
        }
      });
    }
    expect(ended).toBeGreaterThan(10 * SEEDS.length);
  });

  test('19. no time ends a call that runs, and only a call that a person fulfils, or that asks, has a time to be answered', () => {
    let times = 0;
    for (const seed of seedsTo(roundsOf(25, 400))) {
      walk(seed, LENGTH, (before, event, after) => {
        const batch = after?.state.active_tool_batch ?? null;
        const old = before.state.active_tool_batch;
        if (batch === null) return;
        for (const { call_id } of batch.observed) {
          const planned = batch.plan.planned_calls.find((call) => call.call_id === call_id);
          const now = planned === undefined ? undefined : callOf(batch, call_id);
          if (now?.due_at_ms === undefined || now.status === 'waiting' || now.question !== undefined) continue;
          expect([now.status, now.executor.kind]).toEqual(['queued', 'custom']);
        }
        if (event.kind !== 'TimeReached' || old?.batch_id !== batch.batch_id) return;
        for (const [index, call] of old.pages.flat().entries()) {
          if (call.status !== 'running') continue;
          times += 1;
          expect(batch.pages.flat()[index]?.status).toBe('running');
        }
      });
    }
    expect(times).toBeGreaterThan(0);
  });

  test('runs and calls move only along their tables', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (before, event, after) => {
        if (after === null) return;
        const phase = before.state.run?.phase ?? 'idle';
        const now = after.state.run?.phase ?? 'idle';
        if (now !== phase)
          expect([event.kind, phase, transitionsOf(phase, event.kind)]).toContainEqual(expect.arrayContaining([now]));
        const [old, batch] = [before.state.active_tool_batch, after.state.active_tool_batch];
        if (old === null || batch === null || old.batch_id !== batch.batch_id) return;
        for (const [index, call] of old.pages.flat().entries()) {
          const status = batch.pages.flat()[index]?.status;
          if (status === call.status) continue;
          const row = CALL_TRANSITIONS[call.status] as Partial<Record<string, readonly string[]>>;
          expect([event.kind, call.status, row[event.kind]]).toContainEqual(expect.arrayContaining([status]));
        }
      });
    }
  });

  test('no person is asked about a call that a grant or a policy answers', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        for (const { consent } of after?.state.active_tool_batch?.plan.planned_calls ?? []) {
          if (consent === undefined) continue;
          const answered = ['granted', 'session_allows', 'approved_with_changes'].some((reason) =>
            (consent.reasons as readonly string[]).includes(reason),
          );
          expect(consent.ask).toBe(answered ? 'none' : 'person');
        }
      });
    }
  });

  test('6. no denied or unavailable tool is effective', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (_, __, after) => {
        for (const verdict of after?.state.effective_tools.verdicts ?? []) {
          const out = verdict.reasons.some((reason) =>
            /^disabled_by|not_ready$|missing$|^not_in_profile$|^not_approved$|^definition_changed$|^all_offered$/.test(
              reason,
            ),
          );
          expect(verdict.effective).toBe(!out);
        }
      });
    }
  });

  test('the effective tools are always those computed from the state', () => {
    for (const seed of SEEDS.slice(0, 15)) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        // Computed from a copy, for which nothing is cached.
        const fresh = computeEffectiveTools(roundTrip(after.state));
        expect(isRight(fresh) && fresh.right).toEqual(after.state.effective_tools);
      });
    }
  });

  test('every state fits its codec, and its digest fits its definition', () => {
    for (const seed of SEEDS.slice(0, 20)) {
      walk(seed, LENGTH, (_, __, after) => {
        if (after === null) return;
        const copy = roundTrip(after.state) as unknown as JsonObject;
        expect(decode(SessionState, copy)).toMatchObject({ _tag: 'Right' });
        if (seed > 10 || after.events.length > 60) return;
        expect(stateDigest(after.state)).toBe(referenceStateDigest(copy));
      });
    }
  });

  test('a refused event returns the same state object', () => {
    for (const seed of SEEDS) {
      walk(seed, LENGTH, (before, event, after) => {
        if (after !== null) return;
        const bytes = textOf(before.state);
        const stepped = stepNew(before.state, event);
        expect(stepped).toMatchObject({ _tag: 'Left', left: { code: expect.any(String), path: expect.any(String) } });
        expect(textOf(before.state)).toBe(bytes);
      });
    }
  });
});

test('7. bounded: the state of a session of 200 runs is as large as that of 40 runs', () => {
  const sizes = [40, 200].map((runs) => {
    let now = walk(1, 0).session;
    for (let run = 0; run < runs; run += 1) {
      now = now
        .runRequested()
        .observed([{ call_id: 'a', tool_name: 'free', arguments: { run: run % 10 } } as never])
        .batchDone()
        .answered('done');
    }
    return {
      bytes: stateBytes(now.state).length,
      history: now.state.run_history.length,
      open: now.state.transcript.open.length,
      sealed: now.state.transcript.sealed.length,
    };
  });
  const [small, large] = sizes as [(typeof sizes)[number], (typeof sizes)[number]];
  expect(small.history).toBe(limits.RUN_HISTORY_MAX);
  expect(large.history).toBe(limits.RUN_HISTORY_MAX);
  // Only the open page and the digests of the sealed pages differ, and both are bounded.
  expect(large.sealed).toBeGreaterThan(small.sealed);
  expect(large.bytes - small.bytes).toBeLessThan(80 * (large.sealed - small.sealed) + 64 * 400);
});
