// Ten questions and tasks are open at once. Whatever the order of their answers and the restarts in between, the session
// ends in the same state, except for versions and times.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalText } from '../../schemas/index.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { LooseIngress } from '../support/engine/world.ts';
import { A, type World, callsIn, durable, newWorld, packageOf, settled, started } from '../support/engine/world.ts';
import { ASKS_PERSON, ASKS_WRITE, TIMED_PERSON, policyOf } from '../support/consent.ts';
import { roundsOf } from '../support/random.ts';
import { ASKS, FREE, ONCE, PERSON, READ } from '../support/tools.ts';

const TTL_MS = 60_000;
const TOOLS = [ASKS, ASKS_WRITE, ASKS_PERSON, PERSON, TIMED_PERSON, READ, FREE, ONCE];

type PersonAnswer = 'allow' | 'deny' | 'instead' | 'fulfil' | 'fail' | 'silence';

/** The calls of one batch, and how people answer each call that waits. */
const CALLS: readonly (readonly [id: string, tool: string, path: string, answer: PersonAnswer | null])[] = [
  ['q0', 'asks', 'a', 'allow'],
  ['q1', 'asks', 'b', 'deny'],
  ['q2', 'asks_write', 'c', 'allow'],
  ['q3', 'asks_write', 'd', 'deny'],
  ['q4', 'asks', 'e', 'instead'],
  ['q5', 'asks', 'f', 'silence'],
  ['p6', 'person', 'g', 'fulfil'],
  ['p7', 'person', 'h', 'fail'],
  ['p8', 'timed_person', 'i', 'fulfil'],
  ['p9', 'timed_person', 'j', 'silence'],
  ['r10', 'read', 'c', null],
  ['r11', 'read', 'd', null],
  ['f12', 'free', 'k', null],
];
const PENDING = CALLS.filter(([, , , answer]) => answer !== null && answer !== 'silence');

interface Answering {
  readonly order: readonly number[];
  /** After which answers the engine restarts. */
  readonly restarts: readonly number[];
  /** After which answers a bridge does everything that it is granted. */
  readonly work: readonly number[];
}

async function submit({ talk }: World, event: LooseIngress): Promise<void> {
  await talk.submit([event]);
}

async function answerCall(world: World, [call_id, tool_name, path, answer]: (typeof CALLS)[number]): Promise<void> {
  const batch = (await world.talk.state()).active_tool_batch;
  const planned = batch?.plan.planned_calls.find((entry) => entry.call_id === call_id);
  const named = { batch_id: 'batch-1', call_id, arguments_digest: planned?.arguments_digest ?? '' };
  if (answer === 'fulfil' || answer === 'fail') {
    const result = { success: answer === 'fulfil', data: { ok: true } };
    await submit(world, { kind: 'user.custom_tool_result', ...named, result, output: { text: `by hand ${call_id}` } });
    return;
  }
  const instead = { call_id: `${call_id}b`, tool_name, arguments: { path: `${path}b` } };
  await submit(world, {
    kind: 'user.tool_confirmation',
    ...named,
    result: answer === 'allow' ? 'allow' : 'deny',
    ...(answer === 'instead' ? { instead } : {}),
  });
}

/** A bridge does everything that it is granted, in an order that the plan allows. */
async function work(world: World): Promise<void> {
  for (;;) {
    const grant = await world.talk.lease(A, { kinds: ['tool.call'] });
    if (grant.effects.length === 0) return;
    for (const call of callsIn(grant)) {
      await world.talk.submit([started(call, A), settled(call)], A);
    }
  }
}

async function settleBatch(world: World): Promise<void> {
  const batch = (await world.talk.state()).active_tool_batch;
  if (batch === null) throw new Error('no batch is open');
  await submit(world, { kind: 'ToolBatchSettled', batch_id: batch.batch_id, plan_hash: batch.plan.plan_hash });
}

async function run(answering: Answering): Promise<World> {
  const world = await newWorld();
  await world.talk.create(packageOf(TOOLS), policyOf({ approval_ttl_ms: TTL_MS }));
  await world.talk.run();
  const calls = CALLS.map(([call_id, tool_name, path]) => ({ call_id, tool_name, arguments: { path } }));
  await submit(world, { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls });
  for (const [index, which] of answering.order.entries()) {
    if (answering.restarts.includes(index)) await world.restart();
    await answerCall(world, PENDING[which] as (typeof CALLS)[number]);
    if (answering.work.includes(index)) await work(world);
  }
  // Questions without an answer time out, also after a restart.
  await world.clock.advance(TTL_MS);
  await work(world);
  await settleBatch(world);
  await work(world);
  await settleBatch(world);
  await submit(world, { kind: 'ToolCallsObserved', run_id: 'run-1', turn: 2, calls: [], content: { text: 'done' } });
  return world;
}

/** The part of the state that must not depend on the order. */
const ofContent = (state: SessionState): string =>
  canonicalText(
    JSON.parse(JSON.stringify(state, (key, value: unknown) => (/^version$|_at_ms$/.test(key) ? undefined : value))),
  );

const INDICES = PENDING.map((_, index) => index);

test('any order of answers, with restarts in between, ends in the same state', async () => {
  const straight = await run({ order: INDICES, restarts: [], work: [] });
  const state = await straight.talk.state();
  const reference = ofContent(state);
  const results = state.transcript.open.flatMap(({ role, call_id, is_error }) =>
    role === 'tool' ? [`${call_id ?? ''}${is_error === true ? '!' : ''}`] : [],
  );
  expect(results.join(' ')).toBe('q0 q1! q2 q3! q4! q5! p6 p7! p8 p9! r10 r11 f12 q4b');
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(INDICES, { minLength: INDICES.length }),
      fc.subarray(INDICES, { maxLength: 3 }),
      fc.subarray(INDICES),
      async (order, restarts, work) => {
        const world = await run({ order, restarts, work });
        expect(ofContent(await world.talk.state())).toBe(reference);
        expect(ofContent(await durable(world.disk))).toBe(reference);
      },
    ),
    { numRuns: roundsOf(13, 250) },
  );
});
