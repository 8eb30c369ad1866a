// For any batch, durations and failures: every call is settled exactly once, results are in call order, and a batch
// without failures takes exactly as long as its critical path.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { ToolBatchPlan } from '../../schemas/plan.ts';
import type { ReplyCall } from '../../bridge/providers/provider.ts';
import { type Behaviour, SESSION, type World, call, newWorld, resultsOf, statusOf } from '../support/bridge/harness.ts';
import { roundsOf } from '../support/random.ts';
import type { Fault } from '../support/bridge/fake-engine.ts';

const does = fc.option(fc.constantFrom('throw', 'fail', 'busy', 'surrogate', 'not_json', 'not_object', 'stubborn'), {
  nil: undefined,
});

const anyCalls = (behaviour: fc.Arbitrary<Behaviour['does']>): fc.Arbitrary<readonly ReplyCall[]> =>
  fc
    .array(
      fc.record({
        name: fc.constantFrom('read', 'read', 'write', 'write', 'solo'),
        path: fc.constantFrom('a', 'b', 'a/x', 'a/y', 'c'),
        ms: fc.integer({ min: 1, max: 400 }),
        does: behaviour,
      }),
      { minLength: 1, maxLength: 14 },
    )
    .map((calls) =>
      calls.map(({ name, path, ms, does: act }, index) =>
        call(`c${index}`, name, act === undefined ? { path, ms } : { path, ms, does: act }),
      ),
    );

/** A failure: how long after the previous one it happens, what fails, and for how long. */
const trouble = fc.record({
  afterMs: fc.integer({ min: 1, max: 300 }),
  what: fc.constantFrom('lose_ack', 'refuse', 'down', 'kill', 'stop'),
  forMs: fc.integer({ min: 1, max: 20_000 }),
});

function criticalPath(plan: ToolBatchPlan, calls: readonly ReplyCall[]): number {
  const ms = new Map(calls.map(({ id, arguments: args }) => [id, (args as unknown as Behaviour).ms ?? 0]));
  const ends = new Map<string, number>();
  for (const { call_id } of plan.planned_calls) {
    const waits = (plan.execution_plan.after[call_id] ?? []).map((id) => ends.get(id) ?? 0);
    ends.set(call_id, Math.max(0, ...waits) + (ms.get(call_id) ?? 0));
  }
  return Math.max(0, ...ends.values());
}

/** Calls that must not run twice ran once at most. */
function expectRunOnce(world: World, turns: readonly (readonly ReplyCall[])[]): void {
  const once = turns.flat().filter(({ name }) => name !== 'read');
  const allowed = new Map<string, number>();
  for (const { id = '' } of turns.flat()) {
    const reads = turns.flat().some((call) => call.id === id && call.name === 'read');
    allowed.set(id, reads ? Infinity : turns.flat().filter((call) => call.id === id).length);
  }
  for (const { id = '' } of once) {
    expect(world.ran.filter(({ call_id }) => call_id === id).length).toBeLessThanOrEqual(allowed.get(id) ?? 0);
  }
}

function expectSettledOnce(world: World, turns: readonly (readonly ReplyCall[])[]): void {
  const settled = world.engine
    .of('ToolCallSettled')
    .map(({ batch_id, call_id, attempt }) => `${batch_id} ${call_id} ${attempt}`);
  expect(new Set(settled).size).toBe(settled.length);
  const { sealed } = world.engine.state(SESSION).transcript;
  const asked = turns.flat().map(({ id }) => id);
  const answered = resultsOf(world).map(({ call_id }) => call_id);
  expect(answered).toEqual(sealed.length === 0 ? asked : asked.slice(-answered.length));
}

/** Lets time pass, at most until the run ends. */
async function pass(world: World, ms: number): Promise<void> {
  const end = world.clock.now() + ms;
  world.clock.after(ms, () => undefined);
  await world.clock.until(() => world.engine.state(SESSION).run === null || world.clock.now() >= end);
}

type Trouble = typeof trouble extends fc.Arbitrary<infer T> ? T : never;

async function makeTrouble(world: World, troubles: readonly Trouble[]): Promise<void> {
  let bridge = world.start({ owner: 'bridge-0', seed: 1 });
  for (const [index, { afterMs, what, forMs }] of troubles.entries()) {
    await pass(world, afterMs);
    if (what === 'lose_ack' || what === 'refuse') {
      let left = 2;
      const fault: Fault = what === 'lose_ack' ? 'lose_ack' : { code: 'storage_failed', path: '', message: 'disk' };
      world.engine.fault = () => (left-- > 0 ? fault : null);
    } else if (what === 'down') {
      world.engine.down();
      await pass(world, forMs);
      world.engine.up();
    } else {
      const dying = bridge;
      if (what === 'kill') dying.kill();
      else await dying.stop();
      world.engine.expire(({ owner }) => owner === dying.owner);
      bridge = world.start({ owner: `bridge-${index + 1}`, seed: index + 2 });
    }
  }
}

describe('any batch', () => {
  test('takes exactly as long as its critical path', async () => {
    await fc.assert(
      fc.asyncProperty(anyCalls(fc.constant(undefined)), async (calls) => {
        const world = newWorld({ turns: [calls] });
        world.start();
        world.request();
        await world.clock.settle();
        const plan = world.engine.state(SESSION).active_tool_batch?.plan;
        const startedAt = world.engine.of('ToolCallsObserved')[0]?.at_ms ?? 0;
        await world.finish();
        const endedAt = world.engine.of('ToolBatchSettled')[0]?.at_ms ?? 0;
        expect(endedAt - startedAt).toBe(plan === undefined ? Number.NaN : criticalPath(plan, calls));
        expectSettledOnce(world, [calls]);
      }),
      { numRuns: roundsOf(18, 600) },
    );
  });

  test('with retries runs each call after the last attempt of the calls it waits for', async () => {
    await fc.assert(
      fc.asyncProperty(anyCalls(fc.constantFrom(undefined, 'busy')), async (calls) => {
        const world = newWorld({ turns: [calls], config: { retry: { attempts_max: 3, base_ms: 50, cap_ms: 400 } } });
        const bridge = world.start();
        world.request();
        await world.clock.settle();
        const after = world.engine.state(SESSION).active_tool_batch?.plan.execution_plan.after ?? {};
        await world.finish();
        expect(statusOf(world)).toBe('completed');
        expectSettledOnce(world, [calls]);
        for (const { id = '', name, arguments: args } of calls) {
          const runs = world.ran.filter(({ call_id }) => call_id === id);
          expect(runs).toHaveLength(name === 'read' && (args as unknown as Behaviour).does === 'busy' ? 3 : 1);
          const before = world.ran.filter(({ call_id }) => after[id]?.some((other) => other === call_id));
          const freeAt = Math.max(0, ...before.map(({ endedAt }) => endedAt ?? Infinity));
          expect(Math.min(...runs.map(({ startedAt }) => startedAt))).toBeGreaterThanOrEqual(freeAt);
        }
        await bridge.stop();
      }),
      { numRuns: roundsOf(18, 600) },
    );
  });

  test('settles each call once, whatever fails', async () => {
    const turns = fc.array(anyCalls(does), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(turns, fc.array(trouble, { maxLength: 4 }), async (turns, troubles) => {
        const world = newWorld({ turns, config: { tool_concurrency_max: 4, repeats_max: 1_000 } });
        world.request();
        await makeTrouble(world, troubles);
        await world.finish();
        expect(statusOf(world)).toBe('completed');
        expectSettledOnce(world, turns);
        expectRunOnce(world, turns);
      }),
      { numRuns: roundsOf(35, 1_200) },
    );
  });
});
