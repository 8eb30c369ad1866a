// A bridge dies, and the next one has its ledger: finished calls are reported unchanged, started calls are settled
// immediately, and no call that must not be repeated runs twice.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type BridgeLedger, openBridgeLedger } from '../../../bridge/ledger/bridge-ledger.ts';
import type { LedgerDisk } from '../../../bridge/ledger/ledger-disk.ts';
import { brand } from '../../../schemas/ids.ts';
import { SESSION, type World, call, newWorld, resultsOf, statusOf, textOfEntry } from '../../support/bridge/harness.ts';
import { type MemoryDisk, mortalDisk, newMemoryDisk } from '../../support/bridge/memory-disk.ts';
import { roundsOf } from '../../support/random.ts';

const ledgerOf = (disk: LedgerDisk, owner: string): Promise<BridgeLedger> =>
  openBridgeLedger(disk, { owner: brand(owner), nonce: owner, tag: owner, isAlive: () => false });

/** Starts a bridge with its ledger on this disk; opening is tried twice, as a supervisor does. */
async function startOn(world: World, disk: MemoryDisk, owner: string) {
  const ledger = await ledgerOf(disk, owner).catch(() => ledgerOf(disk, `${owner}-again`));
  return world.start({ owner, ledger });
}

describe('a bridge that dies', () => {
  test('with an unsent settlement: the next one reports it with the same id and result', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 1_000, text: 'precious' })]] });
    const disk = newMemoryDisk();
    const first = await startOn(world, disk, 'bridge-a');
    world.request();
    await world.clock.until(() => world.ran.length === 1);
    world.engine.down();
    await world.clock.until(() => world.ran[0]?.endedAt !== null);
    await world.clock.settle();
    first.kill();
    // The engine restarts as well, and knows from its log which bridge started the call.
    world.engine.up();
    await startOn(world, disk, 'bridge-b');
    await world.finish();
    expect(world.ran).toHaveLength(1);
    expect(world.engine.of('ToolCallSettled')).toMatchObject([
      { event_id: 'batch-1/w/1/settled', outcome: 'succeeded', output: { text: 'precious' } },
    ]);
    expect(world.engine.of('LeaseExpired')).toEqual([]);
    expect(world.log).toContainEqual({ event: 'recovered', owner: 'bridge-a', settled: 1, unsettled: 0 });
    expect(disk.files.size).toBe(1);
  });

  test('while calls run: the next one has them settled as unknown immediately, or runs them again if it may', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 }), call('r', 'read', { ms: 40 })]] });
    const disk = newMemoryDisk();
    const first = await startOn(world, disk, 'bridge-a');
    world.request();
    await world.clock.until(() => world.ran.length === 2);
    first.kill();
    const before = world.clock.now();
    await startOn(world, disk, 'bridge-b');
    await world.finish();
    // No lease had to expire first.
    expect(world.clock.now() - before).toBeLessThan(1_000);
    expect(world.ran.map(({ call_id }) => call_id).sort()).toEqual(['r', 'r', 'w']);
    expect(resultsOf(world).map(textOfEntry)).toEqual([expect.stringContaining('outcome_unknown'), 'ok']);
    expect(statusOf(world)).toBe('completed');
  });

  test('whose call is granted again by an engine that has lost its log: the call is not run', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 50_000 }), call('v', 'write', { ms: 20 })]] });
    const disk = newMemoryDisk();
    const first = await startOn(world, disk, 'bridge-a');
    world.request();
    await world.clock.until(() => world.ran.length === 2 && world.engine.of('ToolCallSettled').length === 1);
    first.kill();
    // As if restored from a backup: the same run, without its calls.
    const again = newWorld({ turns: [[call('w', 'write', { ms: 50_000 }), call('v', 'write', { ms: 20 })]] });
    again.request();
    await startOn(again, disk, 'bridge-b');
    await again.finish();
    expect(again.ran.map(({ call_id }) => call_id)).toEqual(['v']);
    expect(again.engine.of('ToolCallSettled')).toMatchObject([{ call_id: 'w', outcome: 'unknown' }, { call_id: 'v' }]);
  });
});

describe('a ledger that cannot be written', () => {
  test('prevents a call that must not be repeated from running, and its result says so', async () => {
    const world = newWorld({ turns: [[call('w', 'write', { ms: 10 }), call('r', 'read', { ms: 10 })]] });
    const disk = newMemoryDisk();
    const ledger = await ledgerOf(disk, 'bridge-a');
    disk.fault = () => 'refused';
    world.start({ owner: 'bridge-a', ledger });
    world.request();
    await world.finish();
    expect(world.ran.map(({ call_id }) => call_id)).toEqual(['r']);
    expect(resultsOf(world).map(textOfEntry)).toEqual([expect.stringContaining('was not run'), 'ok']);
  });
});

/** The life of one bridge process: how long it lives, how long the engine is away meanwhile, and the faults of its disk. */
const life = fc.record({
  livesMs: fc.integer({ min: 1, max: 400 }),
  awayMs: fc.option(fc.integer({ min: 1, max: 200 }), { nil: 0 }),
  engineToo: fc.boolean(),
  powerCut: fc.boolean(),
  faults: fc.array(fc.constantFrom(null, null, null, 'refused' as const, 'torn' as const, 'lost' as const), {
    maxLength: 12,
  }),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

const someCalls = fc
  .array(fc.record({ name: fc.constantFrom('write', 'write', 'read'), ms: fc.integer({ min: 1, max: 300 }) }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((calls) => calls.map(({ name, ms }, index) => call(`c${index}`, name, { ms, text: `result of c${index}` })));

async function pass(world: World, ms: number): Promise<void> {
  const end = world.clock.now() + ms;
  world.clock.after(ms, () => undefined);
  await world.clock.until(() => world.engine.state(SESSION).run === null || world.clock.now() >= end);
}

async function live(world: World, disk: MemoryDisk, { livesMs, awayMs, ...life }: Life, owner: string): Promise<void> {
  const from = disk.operations();
  disk.fault = (operation) => life.faults[operation - from] ?? null;
  let dead = false;
  const ledger = await ledgerOf(
    mortalDisk(disk, () => dead),
    owner,
  ).catch(() => null);
  if (ledger === null) return;
  const bridge = world.start({ owner, ledger });
  await pass(world, livesMs);
  if (awayMs > 0) {
    world.engine.down();
    await pass(world, awayMs);
    if (!life.engineToo) world.engine.up();
  }
  bridge.kill();
  dead = true;
  if (life.powerCut) disk.powerCut();
  world.engine.up();
}

test('whenever bridges, engine and disk fail: calls run once, settle once, and noted settlements are not lost', async () => {
  let rescued = 0;
  await fc.assert(
    fc.asyncProperty(someCalls, fc.array(life, { minLength: 1, maxLength: 4 }), async (calls, lives) => {
      const world = newWorld({ turns: [calls] });
      const disk = newMemoryDisk();
      world.request();
      for (const [index, each] of lives.entries()) await live(world, disk, each, `bridge-${index}`);
      disk.fault = () => null;
      const last = await ledgerOf(disk, 'bridge-last');
      const noted = last.predecessors.flatMap(({ entries }) => entries);
      const open = world.engine.of('ToolCallSettled').length;
      world.start({ owner: 'bridge-last', ledger: last });
      await world.finish();
      for (const { id = '', name } of calls) {
        if (name === 'write') expect(world.ran.filter(({ call_id }) => call_id === id).length).toBeLessThanOrEqual(1);
      }
      const settled = world.engine.of('ToolCallSettled');
      expect(new Set(settled.map(({ call_id }) => call_id)).size).toBe(settled.length);
      expect(resultsOf(world).map(({ call_id }) => call_id)).toEqual(calls.map(({ id }) => id));
      // A settlement in a ledger is the recorded one, unless the call was settled as unknown before it could be reported.
      const lost = new Set(world.engine.of('LeaseExpired').map(({ call_id }) => call_id));
      for (const { event } of noted) {
        if (event?.kind !== 'ToolCallSettled' || lost.has(event.call_id)) continue;
        expect(settled.find(({ call_id }) => call_id === event.call_id)?.output).toEqual(event.output);
      }
      if (noted.some(({ event }) => event !== null) && settled.length > open) rescued += 1;
    }),
    { numRuns: Math.min(roundsOf(50, 1_000), 600) },
  );
  expect(rescued).toBeGreaterThan(0);
});
