// The public test kit: given/when/then, and the arbitraries.
import * as fc from 'fast-check';
import { isRight } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { INGRESS_KINDS, type Position } from '../../schemas/index.ts';
import { mustBe } from '../../src/client/must.ts';
import {
  checkGenesis,
  defaultGenesis,
  initialState,
  newLawCheck,
  planBatch,
  stateDigest,
  step,
} from '../../src/core/index.ts';
import { type Fact, arbitrary, call, given, packageOf, say, scriptedModel } from '../../src/testing/index.ts';
import { UNMADE_KINDS } from '../../src/testing/plausible-fact.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { roundsOf } from '../support/random.ts';
import { fold } from '../support/session.ts';
import { READ, WRITE } from '../support/tools.ts';

const SOME = { tool_package: packageOf([READ, WRITE]), consent: CONSENT_PRESETS.allow_all };
const RUN: Fact = { kind: 'RunRequested', input: say('go') };
const CALLS: Fact = {
  kind: 'ToolCallsObserved',
  run_id: 'run-1',
  turn: 1,
  calls: [call('a', 'read', { path: 'x' }), call('b', 'nope')],
};

describe('given, when, then', () => {
  test('checks the state and the owed effects', () => {
    const when = given([RUN], SOME)
      .when(CALLS)
      .thenState({ run: { phase: 'executing', calls: 2 }, active_tool_batch: { queued: 1 } })
      .thenOwes({ kind: 'tool.call', call_id: 'a', tool_id: 'read' });
    expect(isRight(when.outcome)).toBe(true);
  });

  test('checks the code of a refusal', () => {
    given([], SOME).when(CALLS).thenRefused('run_not_active');
    expect(given([RUN], SOME).and(CALLS).events).toHaveLength(2);
  });

  test('fails with the difference', () => {
    const when = given([RUN], SOME).when(CALLS);
    expect(() => when.thenState({ run: { turn: 2 } })).toThrow('at "/run/turn": expected 2, got 1');
    expect(() => when.thenOwes()).toThrow('after ToolCallsObserved');
    expect(() => when.thenRefused('wrong_turn')).toThrow('is accepted');
    expect(() => given([CALLS], SOME)).toThrow('given ToolCallsObserved: it is refused');
    expect(() => given([], SOME).when(CALLS).thenState({})).toThrow('is refused');
  });
});

describe('given', () => {
  test('refuses a value that is not a fact', () => {
    expect(() => given([undefined as never, RUN], SOME)).toThrow('a fact is an object with a kind');
    expect(() => given([], SOME).when(null as never)).toThrow('a fact is an object with a kind');
  });

  test('refuses an object as part of a list', () => {
    const when = given([], SOME).when(RUN);
    expect(() => when.thenState({ run_history: {} as never })).toThrow('at "/run_history"');
  });

  test('takes thousands of facts', () => {
    const facts = Array.from({ length: 5_000 }, (): Fact => ({ kind: 'SessionConfigured', config: { turns_max: 7 } }));
    expect(given(facts, SOME).state).toMatchObject({ version: 5_000, config: { turns_max: 7 } });
  });
});

describe('arbitraries', () => {
  test('of streams take the consent policy and the config of a session', () => {
    const config = { turns_max: 1, wall_ms_max: 30_000, retry: { attempts_max: 3, base_ms: 10, cap_ms: 20 } };
    const stream = arbitrary.ingressStream({ consent: CONSENT_PRESETS.careful, config, lengthMax: 60 });
    const seen = new Set<string>();
    fc.assert(
      fc.property(stream, ({ genesis, events, state }) => {
        expect(genesis).toMatchObject({ consent: CONSENT_PRESETS.careful, config });
        for (const { ending } of state.run_history) if (ending.code !== null) seen.add(ending.code);
        for (const event of events) if ('retryable' in event) seen.add(`${event.kind} again`);
        if ((state.active_tool_batch?.waiting ?? 0) > 0) seen.add('asks');
      }),
      { numRuns: 300, seed: 3 },
    );
    for (const what of ['asks', 'time_exceeded', 'turns_exceeded', 'GenerateFailed again', 'ToolCallSettled again']) {
      expect(seen).toContain(what);
    }
  });

  test('of calls set the claimed arguments, and work without tools', () => {
    const claims = [{ space: 'prices', argument: 'article', form: 'text', access: 'read' }] as const;
    const tool = { ...READ, parallelism_hint: { parallel_safe: true, claims } };
    const known = fc.sample(arbitrary.toolCalls([tool]), { numRuns: 50, seed: 1 }).flat();
    const articles = known
      .filter(({ tool_name }) => tool_name === 'read')
      .map(({ arguments: args }) => args?.['article']);
    expect(new Set(articles)).toEqual(new Set(['a', 'b', 'a/x', 'a/y', 'c']));
    const none = fc.sample(arbitrary.toolCalls([]), { numRuns: 20, seed: 1 }).flat();
    expect(new Set(none.map(({ tool_name }) => tool_name))).toEqual(new Set(['no_such_tool']));
  });

  test('of registries give packages that a session accepts, and calls that can be planned', () => {
    const tools = arbitrary
      .toolRegistry()
      .chain((registry) => fc.tuple(fc.constant(registry), arbitrary.toolCalls(registry)));
    let rejected = 0;
    fc.assert(
      fc.property(tools, ([registry, calls]) => {
        const tool_package = packageOf(registry);
        const genesis = defaultGenesis({ tool_package });
        expect(isRight(checkGenesis(genesis, tool_package))).toBe(true);
        const { effective_tools } = fold({ genesis, tool_package }, []);
        const plan = planBatch(effective_tools, calls, { offer: null });
        expect(plan.planned_calls.length + plan.rejected.length).toBe(calls.length);
        rejected += plan.rejected.length;
      }),
      { numRuns: roundsOf(100) },
    );
    expect(rejected).toBeGreaterThan(0);
  });

  test('of streams give accepted facts of every kind, which fold again to the same digest', () => {
    const kinds = new Set<string>();
    const config = { wall_ms_max: 40_000, context: { mark: 10 } };
    fc.assert(
      fc.property(arbitrary.ingressStream({ config, lengthMax: 60 }), ({ genesis, tool_package, events, state }) => {
        for (const { kind } of events) kinds.add(kind);
        expect(stateDigest(fold({ genesis, tool_package }, JSON.parse(JSON.stringify(events)) as typeof events))).toBe(
          stateDigest(state),
        );
      }),
      { numRuns: roundsOf(600), seed: 2 },
    );
    expect(INGRESS_KINDS.filter((kind) => !kinds.has(kind))).toEqual(UNMADE_KINDS);
  });

  test('of streams keep the laws on record, also with a time to be answered on tools that a bridge runs', () => {
    let timed = 0;
    const stream = arbitrary.ingressStream({ consent: CONSENT_PRESETS.allow_all, lengthMax: 60 });
    fc.assert(
      fc.property(stream, ({ genesis, tool_package, events }) => {
        const laws = newLawCheck();
        let state = initialState(genesis, tool_package);
        for (const [position, event] of events.entries()) {
          const before = state;
          ({ state } = mustBe(step(before, event)));
          if (event.kind === 'TimeReached' && before.active_tool_batch !== null) timed += 1;
          laws.add({ position: position as Position, event, before, after: state, sealed: null });
        }
        expect(laws.breaches()).toEqual([]);
      }),
      { numRuns: roundsOf(100, 3_000), seed: 1 },
    );
    expect(timed).toBeGreaterThan(0);
  });

  test('shrink to the facts that matter', () => {
    const stream = arbitrary.ingressStream({ tool_package: SOME.tool_package });
    const found = fc.check(
      fc.property(stream, ({ events }) => events.every(({ kind }) => kind !== 'ToolCallsObserved')),
      { seed: 3, numRuns: 200 },
    );
    expect(found.counterexample?.[0].events.map(({ kind }) => kind)).toEqual(['RunRequested', 'ToolCallsObserved']);
  });
});

test('a scripted model answers with its turns, and then with done', async () => {
  const model = scriptedModel([{ calls: [{ name: 'read' }] }, null]);
  const ask = (turn: number) =>
    model.generate(
      { session_id: 's', run_id: 'run-1', turn, tools: [], messages: [] } as never,
      new AbortController().signal,
    );
  expect((await ask(1)).calls).toEqual([{ name: 'read' }]);
  await expect(ask(2)).rejects.toThrow('no answer to run-1 turn 2');
  expect(await ask(3)).toEqual({ content: 'done', calls: [] });
});
