// Questions to people: no bridge is granted a call that waits for an answer, timeouts fire, and a restart loses nothing.
// In process and over HTTP alike.
import { afterEach, describe, expect, test } from 'vitest';
import type { EffectOfKind, SessionState } from '../../schemas/index.ts';
import { RETRY_BASE_MS_DEFAULT } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { effects, replay, sessionStatus } from '../../src/core/index.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { ASKS_WRITE, TIMED_PERSON, policyOf } from '../support/consent.ts';
import { serveClient } from '../support/engine/serving.ts';
import {
  A,
  B,
  type LooseIngress,
  SESSION,
  Talk,
  type World,
  callsIn,
  durable,
  newWorld,
  packageOf,
  settled,
  started,
} from '../support/engine/world.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { eventsOf } from '../support/records.ts';
import { ASKS, FREE, READ, tool } from '../support/tools.ts';

const TTL_MS = 60_000;
const STRICT_ASKS = tool('strict_asks', {
  permission_policy: 'always_ask',
  parallelism_hint: { parallel_safe: true },
  input_schema: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
});
const MEASURED = tool('measured', {
  idempotent: true,
  parallelism_hint: { parallel_safe: true },
  output_schema: { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] },
});
const TOOLS = [ASKS, ASKS_WRITE, STRICT_ASKS, TIMED_PERSON, READ, FREE, MEASURED];

type Call = readonly [id: string, tool: string, args?: object];

/** Starts a run whose model makes these calls. */
async function calling(talk: Talk, ...calls: readonly Call[]): Promise<void> {
  await talk.create(packageOf(TOOLS), policyOf({ approval_ttl_ms: TTL_MS }));
  await talk.run();
  await observe(talk, 1, ...calls);
}

async function observe(talk: Talk, turn: number, ...calls: readonly Call[]): Promise<void> {
  const made = calls.map(([call_id, tool_name, args = {}]) => ({ call_id, tool_name, arguments: args as never }));
  await talk.submit([{ kind: 'ToolCallsObserved', run_id: 'run-1', turn, calls: made }]);
}

async function named(talk: Talk, call_id: string) {
  const batch = (await talk.state()).active_tool_batch;
  const planned = batch?.plan.planned_calls.find((entry) => entry.call_id === call_id);
  return { batch_id: batch?.batch_id ?? '', call_id, arguments_digest: planned?.arguments_digest ?? '' };
}

const confirmation = async (talk: Talk, call_id: string, result: 'allow' | 'deny'): Promise<LooseIngress> => ({
  kind: 'user.tool_confirmation',
  ...(await named(talk, call_id)),
  result,
});

const customResult = async (talk: Talk, call_id: string, data: object): Promise<LooseIngress> => ({
  kind: 'user.custom_tool_result',
  ...(await named(talk, call_id)),
  result: { success: true, data } as never,
  output: { text: 'by hand' },
});

const statuses = (state: SessionState): readonly string[] =>
  state.active_tool_batch?.pages.flat().map(({ status }) => status) ?? [];

const codeOf = (state: SessionState, index: number): string | null | undefined =>
  state.active_tool_batch?.pages.flat()[index]?.code;

const leaseCall = async (talk: Talk, owner = A): Promise<EffectOfKind<'tool.call'>> => {
  const [call] = callsIn(await talk.lease(owner));
  if (call === undefined) throw new Error('no call was granted');
  return call;
};

interface Reached {
  readonly world: World;
  readonly close: () => Promise<void>;
}

/** The same engine, used in process, or through a server that runs as long as the engine. */
const CLIENTS = {
  'in process': async (): Promise<Reached> => ({ world: await newWorld(), close: () => Promise.resolve() }),
  'over HTTP': async (): Promise<Reached> => {
    const world = await newWorld();
    let served = await serveClient(world.engine.client);
    const connect = (client: EngineClient): void => {
      world.talk = new Talk(client);
    };
    connect(served.client);
    const restart = world.restart.bind(world);
    world.restart = async () => {
      await served.close();
      await restart();
      served = await serveClient(world.engine.client);
      connect(served.client);
    };
    return { world, close: () => served.close() };
  },
} as const;

describe.each(Object.entries(CLIENTS))('%s', (_, open) => {
  let reached: Reached | null = null;
  afterEach(async () => {
    await reached?.close();
    await reached?.world.engine.close();
    reached = null;
  });
  const start = async (...calls: readonly Call[]): Promise<World> => {
    reached = await open();
    await calling(reached.world.talk, ...calls);
    return reached.world;
  };

  test('a call that waits for a person is not leased, nor are calls that wait for it; the others are', async () => {
    const world = await start(
      ['q', 'asks_write', { path: 'a' }],
      ['r', 'read', { path: 'a' }],
      ['f', 'free'],
      ['p', 'timed_person', { path: 'b' }],
    );
    expect(await world.talk.leased(A)).toEqual(['batch-1/f/1']);
    expect(sessionStatus(await world.talk.state())).toEqual({
      status: 'requires_action',
      blocking_event_ids: ['batch-1/q/confirm', 'batch-1/p/fulfil'],
    });
    await world.talk.submit([await confirmation(world.talk, 'q', 'allow')]);
    expect(await world.talk.leased(B)).toEqual(['batch-1/q/1', 'batch-1/r/1']);
  });

  test('a waiting lease request is granted the call once a person has allowed it', async () => {
    const world = await start(['q', 'asks']);
    const waiting = world.talk.leased(A, { wait_ms: 20_000 });
    await world.talk.submit([await confirmation(world.talk, 'q', 'allow')]);
    expect(await waiting).toEqual(['batch-1/q/1']);
  });

  test('an answer counts once, and the same one sent again gets the first receipt', async () => {
    const world = await start(['q', 'asks']);
    const event = { event_id: 'answer-1', ...(await confirmation(world.talk, 'q', 'allow')) };
    expect(await world.talk.outcome(event)).toBe('done');
    expect(await world.talk.outcome(event)).toBe('done');
    expect(await world.talk.outcome({ ...event, event_id: 'answer-2' })).toBe('not_confirmable');
    expect(await world.talk.outcome(await confirmation(world.talk, 'q', 'deny'))).toBe('not_confirmable');
  });

  test('a question times out, also while the engine is down', async () => {
    const world = await start(['q', 'asks'], ['q2', 'asks', { n: 2 }]);
    await world.clock.advance(TTL_MS - 1);
    await world.talk.submit([await confirmation(world.talk, 'q2', 'allow')]);
    expect(statuses(await world.talk.state())).toEqual(['waiting', 'queued']);
    await world.restart();
    await world.clock.advance(1);
    const state = await world.talk.state();
    expect(statuses(state)).toEqual(['denied', 'queued']);
    expect(codeOf(state, 0)).toBe('approval_expired');
    expect(await durable(world.disk)).toEqual(state);
  });

  test('after a restart the same question is open, and its answer is accepted', async () => {
    const world = await start(['q', 'asks'], ['p', 'timed_person', { path: 'b' }]);
    const before = await world.talk.state();
    await world.restart();
    const after = await world.talk.state();
    expect(after).toEqual(before);
    expect(effects(after)).toEqual(effects(before));
    await world.talk.submit([
      await confirmation(world.talk, 'q', 'deny'),
      await customResult(world.talk, 'p', { ok: true }),
    ]);
    expect(await world.talk.leased(A)).toEqual(['batch-1/settle']);
    const records = await must(world.talk.client.records(SESSION));
    expect(replay(records).divergence).toBeNull();
  });

  test('an answer that does not fit its schema is refused, with any claimed verdict, and may be given again', async () => {
    const world = await start(['p', 'timed_person', { path: 'b' }]);
    const misfit = {
      ...(await customResult(world.talk, 'p', { ok: 'yes' })),
      output_verdict: { valid: true },
    } as never;
    const refused = await refusal(world.talk.client.submit(SESSION, { events: [misfit] }));
    expect(refused).toMatchObject({ code: 'result_invalid', path: '/events/0/result/data/ok' });
    expect(await world.talk.outcome(await customResult(world.talk, 'p', { ok: true }))).toBe('done');
    expect(statuses(await world.talk.state())).toEqual(['succeeded']);
  });

  test('a custom call times out', async () => {
    const world = await start(['p', 'timed_person', { path: 'b' }]);
    const late = await customResult(world.talk, 'p', { ok: true });
    await world.clock.advance(TIMED_PERSON.answer_within_ms as number);
    expect(codeOf(await world.talk.state(), 0)).toBe('tool_timeout');
    expect(await world.talk.outcome(late)).toBe('call_already_settled');
  });

  test('amended arguments are checked against the schema of the tool', async () => {
    const world = await start(['s', 'strict_asks', { n: 1 }]);
    const deny = await confirmation(world.talk, 's', 'deny');
    const instead = (args: object) =>
      ({ ...deny, instead: { call_id: 's2', tool_name: 'strict_asks', arguments: args } }) as never;
    const refused = await refusal(world.talk.client.submit(SESSION, { events: [instead({ n: 'one' })] }));
    expect(refused).toMatchObject({ code: 'amendment_invalid', path: '/events/0/instead/arguments/n' });
    expect(statuses(await world.talk.state())).toEqual(['waiting']);
    await world.talk.submit([instead({ n: 2 })]);
    const { run, active_tool_batch } = await world.talk.state();
    expect(run?.amended?.[0]).toMatchObject({ call_id: 's2', arguments: { n: 2 }, arguments_verdict: { valid: true } });
    const { batch_id, plan } = active_tool_batch as NonNullable<typeof active_tool_batch>;
    await world.talk.submit([{ kind: 'ToolBatchSettled', batch_id, plan_hash: plan.plan_hash }]);
    expect(await world.talk.leased(A)).toEqual(['batch-2/s2/1']);
  });

  test("a bridge's result that does not fit its schema is a failure", async () => {
    const world = await start(['m', 'measured']);
    const call = await leaseCall(world.talk);
    const report = { ...settled(call), result: { success: true, data: { ok: 7 } } } as LooseIngress;
    await world.talk.submit([started(call, A), report], A);
    expect(codeOf(await world.talk.state(), 0)).toBe('tool_invalid_result');
  });

  test('an interrupt withdraws the open questions, and the late answer of the abandoned generate is refused', async () => {
    const world = await start(['q', 'asks']);
    const late = await confirmation(world.talk, 'q', 'allow');
    const { run_id } = { run_id: 'run-1' };
    await world.talk.submit([{ kind: 'user.interrupt', run_id, input: { text: 'rather this' } }]);
    expect(await world.talk.outcome(late)).toBe('batch_not_active');
    expect(await world.talk.leased(A)).toEqual(['run-1/turn-2']);
    await world.talk.submit([{ kind: 'user.interrupt', run_id, input: { text: 'or that' } }]);
    const answer = { kind: 'ToolCallsObserved' as const, run_id, turn: 2, calls: [] };
    expect(await world.talk.outcome(answer, A)).toBe('wrong_turn');
    expect(await world.talk.leased(B)).toEqual(['run-1/turn-3']);
  });
});

describe('a retry', () => {
  const failed: LooseIngress = {
    kind: 'GenerateFailed',
    run_id: 'run-1',
    turn: 1,
    code: 'busy',
    message: 'no',
    retryable: true,
  };

  test('is leased when it is due, under another lease, on which the former owner may not report', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf(TOOLS));
    await world.talk.run();
    expect(await world.talk.leased(A)).toEqual(['run-1/turn-1']);
    expect(await world.talk.outcome(failed, A)).toBe('done');
    expect(await world.talk.leased(B)).toEqual([]);
    await world.restart();
    await world.clock.advance(10_000);
    expect(await world.talk.leased(B)).toEqual(['run-1/turn-1/retry-1']);
    const answer = { kind: 'ToolCallsObserved' as const, run_id: 'run-1', turn: 1, calls: [], content: { text: 'x' } };
    expect(await world.talk.outcome(failed, A)).toBe('stale_lease');
    expect(await world.talk.outcome(answer, A)).toBe('stale_lease');
    expect(await world.talk.outcome(answer, B)).toBe('done');
    await world.engine.close();
  });

  test('waits as long as the recorded jitter says, with any claimed jitter', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf(TOOLS));
    await world.talk.run();
    await world.talk.submit([{ ...failed, jitter_permille: 801 }]);
    const records = await must(world.talk.client.records(SESSION));
    const event = eventsOf(records).at(-1);
    const drawn = event?.kind === 'GenerateFailed' ? (event.jitter_permille ?? 0) : 0;
    expect(drawn).toBe(1_000);
    const due = (await world.talk.state()).run?.retry?.not_before_ms ?? 0;
    expect(due - world.clock.now()).toBe(RETRY_BASE_MS_DEFAULT);
    await world.engine.close();
  });

  test('of a call is its next attempt, for any bridge', async () => {
    const world = await newWorld();
    await calling(world.talk, ['m', 'measured'], ['f', 'free']);
    const call = await leaseCall(world.talk);
    await world.talk.submit([started(call, A)], A);
    expect(await world.talk.outcome({ ...settled(call, false), retryable: true } as LooseIngress, A)).toBe('done');
    expect(await world.talk.leased(B)).toEqual([]);
    await world.clock.advance(10_000);
    const leased = await world.talk.leased(B);
    expect(leased).toContain('batch-1/m/2');
    expect(await world.talk.outcome(settled(call), A)).toBe('stale_attempt');
    await world.engine.close();
  });
});
