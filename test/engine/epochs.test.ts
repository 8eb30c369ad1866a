// Epochs: a lost lease stays lost, whichever bridge has the effect now and however often the engine was restarted
// (docs/design.md, law 17).
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { EffectOfKind } from '../../schemas/effect.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { type EpochStore, newMemoryEpochs, openEpochs, openFileEpochs } from '../../src/engine/leases/epochs.ts';
import {
  A,
  B,
  type LooseIngress,
  TTL_MS,
  type World,
  ingress,
  newWorld,
  settled,
  started,
} from '../support/engine/world.ts';
import { roundsOf } from '../support/random.ts';
import { isLeft } from 'fp-ts/lib/Either.js';

type Call = EffectOfKind<'tool.call'>;

interface Held {
  readonly owner: OwnerId;
  readonly call: Call;
  readonly epoch: number;
}

async function leaseOne(world: World, owner: OwnerId): Promise<Held | null> {
  const { effects, epochs } = await world.talk.lease(owner, { kinds: ['tool.call'] });
  const [effect] = effects;
  return effect?.kind === 'tool.call' ? { owner, call: effect, epoch: epochs[0] as number } : null;
}

async function mustLease(world: World, owner: OwnerId): Promise<Held> {
  const held = await leaseOne(world, owner);
  if (held === null) throw new Error('nothing was granted');
  return held;
}

async function withCall(tool: 'once' | 'read'): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  await world.talk.calls(['a', tool]);
  return world;
}

async function report(world: World, { owner, call, epoch }: Held, event: LooseIngress): Promise<string> {
  const request = { events: [ingress(event)], owner, leases: [{ effect_id: call.effect_id, epoch }] };
  const answer = await world.talk.client.submit(world.talk.id, request)();
  return isLeft(answer) ? answer.left.code : 'done';
}

/** Whether the owner still holds the lease. */
async function keepsLease(world: World, { owner, call: { effect_id }, epoch }: Held): Promise<boolean> {
  const leases = [{ session_id: world.talk.id, effect_id, epoch }];
  return (await must(world.talk.client.heartbeat({ owner, leases }))).lost.length === 0;
}

describe('a lease that was lost', () => {
  test('is refused as stale although no other bridge has the call', async () => {
    const world = await withCall('read');
    const held = await mustLease(world, A);
    await world.clock.advance(2 * TTL_MS);
    expect(await keepsLease(world, held)).toBe(false);
    expect(await report(world, held, settled(held.call))).toBe('stale_lease');
    expect(await report(world, held, started(held.call, A))).toBe('stale_lease');
  });

  test('is refused even to its former owner that has the call again', async () => {
    const world = await withCall('read');
    const first = await mustLease(world, A);
    await world.clock.advance(2 * TTL_MS);
    const second = await mustLease(world, A);
    expect(second.epoch).toBeGreaterThan(first.epoch);
    expect(await report(world, first, settled(first.call))).toBe('stale_lease');
    expect(await keepsLease(world, first)).toBe(false);
    expect(await report(world, second, settled(second.call))).toBe('done');
  });

  test('cannot be released again by its former owner', async () => {
    const world = await withCall('read');
    const first = await mustLease(world, A);
    await world.clock.advance(2 * TTL_MS);
    const second = await mustLease(world, A);
    const { session_id, effect_id } = first.call;
    await must(world.talk.client.release({ owner: A, leases: [{ session_id, effect_id, epoch: first.epoch }] }));
    expect(await keepsLease(world, second)).toBe(true);
    expect(await leaseOne(world, B)).toBeNull();
  });

  test('by a restart of the engine belongs to the newest of its claimants', async () => {
    const world = await withCall('read');
    const old = await mustLease(world, A);
    await world.clock.advance(2 * TTL_MS);
    const now = await mustLease(world, B);
    await world.restart();
    // The former owner reports first, and counts as the owner until the newer one reports.
    expect(await keepsLease(world, old)).toBe(true);
    expect(await keepsLease(world, now)).toBe(true);
    expect(await keepsLease(world, old)).toBe(false);
    expect(await report(world, old, settled(old.call))).toBe('stale_lease');
    expect(await report(world, now, settled(now.call))).toBe('done');
  });

  test('includes one that was resumed after a restart', async () => {
    const world = await withCall('read');
    const held = await mustLease(world, A);
    await world.restart();
    expect(await keepsLease(world, held)).toBe(true);
    await world.clock.advance(2 * TTL_MS);
    expect(await keepsLease(world, held)).toBe(false);
    expect(await report(world, held, settled(held.call))).toBe('stale_lease');
  });

  test('by a restart of the engine is granted to another bridge under a newer epoch', async () => {
    const world = await withCall('read');
    const old = await mustLease(world, A);
    await world.restart();
    const now = await mustLease(world, B);
    expect(now.epoch).toBeGreaterThan(old.epoch);
    expect(await keepsLease(world, old)).toBe(false);
    expect(await report(world, old, settled(old.call))).toBe('stale_lease');
  });

  test('includes one under an epoch that no engine granted', async () => {
    const world = await withCall('read');
    const held = await mustLease(world, A);
    const forged = { ...held, epoch: held.epoch + 1 };
    expect(await keepsLease(world, forged)).toBe(false);
    expect(await report(world, forged, settled(held.call))).toBe('stale_lease');
    expect(await report(world, held, settled(held.call))).toBe('done');
  });
});

describe('a call that runs', () => {
  test('belongs to its recorded owner, whatever epochs others name', async () => {
    const world = await withCall('once');
    const held = await mustLease(world, A);
    expect(await report(world, held, started(held.call, A))).toBe('done');
    await world.restart();
    const other = { ...held, owner: B, epoch: held.epoch + 1 };
    expect(await keepsLease(world, other)).toBe(false);
    expect(await keepsLease(world, held)).toBe(true);
    expect(await keepsLease(world, other)).toBe(false);
    expect(await report(world, other, settled(held.call))).toBe('stale_lease');
    expect(await report(world, held, settled(held.call))).toBe('done');
  });
});

describe('a run that is paused', () => {
  test('leaves the generate to its owner', async () => {
    const world = await newWorld();
    await world.talk.create();
    await world.talk.run();
    const { effects, epochs } = await world.talk.lease(A);
    expect(effects.map(({ kind }) => kind)).toEqual(['llm.generate']);
    await world.talk.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
    await world.clock.advance(TTL_MS / 2);
    const leases = effects.map(({ effect_id }, at) => ({ effect_id, epoch: epochs[at] as number }));
    const keys = leases.map((lease) => ({ session_id: world.talk.id, ...lease }));
    expect((await must(world.talk.client.heartbeat({ owner: A, leases: keys }))).lost).toEqual([]);
    await world.talk.submit([{ kind: 'RunResumed', run_id: 'run-1' }]);
    expect(await world.talk.leased(B)).toEqual([]);
    const event = ingress({ kind: 'ToolCallsObserved', event_id: 'generated', run_id: 'run-1', turn: 1, calls: [] });
    await must(world.talk.client.submit(world.talk.id, { events: [event], owner: A, leases }));
  });
});

/** What happens to one call that may run again and is never recorded as started. */
const act = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant('take'), fc.constantFrom('a', 'b', 'c')) },
  { weight: 4, arbitrary: fc.tuple(fc.constant('beat'), fc.nat(8)) },
  { weight: 3, arbitrary: fc.tuple(fc.constant('pass'), fc.integer({ min: 1, max: TTL_MS })) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('jump'), fc.constantFrom(3_600_000, -3_600_000)) },
  { weight: 1, arbitrary: fc.tuple(fc.constant('restart'), fc.constant(0)) },
);

test('in any sequence of leases, clock changes and restarts, epochs grow and at most one owner remains', async () => {
  let holdersLeft = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 3, maxLength: 30 }), async (acts) => {
      const world = await withCall('read');
      const grants: Held[] = [];
      for (const [what, value] of acts) {
        if (what === 'take') {
          const held = await leaseOne(world, brand(`bridge-${value}`));
          if (held === null) continue;
          for (const { epoch } of grants) expect(held.epoch).toBeGreaterThan(epoch);
          grants.push(held);
        } else if (what === 'beat') {
          const held = grants.at(-1 - value);
          if (held !== undefined) await keepsLease(world, held);
        } else if (what === 'pass') await world.clock.advance(value);
        else if (what === 'jump') world.clock.jump(Math.max(value, -world.clock.now()));
        else await world.restart();
      }
      // Of the claimants that were accepted, in the order of their epochs, only the last is still accepted.
      const first = await Promise.all(grants.map((held) => keepsLease(world, held)));
      const again: boolean[] = [];
      for (const held of grants) again.push(await keepsLease(world, held));
      expect(again.filter(Boolean).length).toBeLessThanOrEqual(1);
      expect(again.indexOf(true)).toBe(first.lastIndexOf(true));
      const codes: string[] = [];
      for (const [index, held] of grants.entries()) {
        if (again[index] === false) codes.push(await report(world, held, settled(held.call)));
      }
      expect(codes.filter((code) => code !== 'stale_lease')).toEqual([]);
      const holder = grants[again.indexOf(true)];
      if (holder === undefined) return;
      holdersLeft += 1;
      expect(await report(world, holder, settled(holder.call))).toBe('done');
    }),
    { numRuns: roundsOf(60) },
  );
  expect(holdersLeft).toBeGreaterThan(0);
});

describe('epochs', () => {
  test('grow across blocks and engines, and are never granted twice', async () => {
    const path = await mkdtemp(join(tmpdir(), 'refold-epochs-'));
    let last = 0;
    for (let opening = 0; opening < 5; opening += 1) {
      const epochs = await openEpochs(openFileEpochs(join(path, 'epochs')), 10);
      expect(epochs.first).toBeGreaterThan(last);
      for (let given = 0; given < 4 * opening; given += 1) {
        const epoch = epochs.next();
        // The next block is still being reserved.
        if (epoch === null) break;
        expect(epoch).toBeGreaterThan(last);
        last = epoch;
      }
      await epochs.close();
    }
    expect(await readdir(path)).toEqual(['epochs']);
    await rm(path, { recursive: true });
  });

  test('continue from block to block', async () => {
    const epochs = await openEpochs(newMemoryEpochs(), 4);
    const given: (number | null)[] = [];
    for (let count = 0; count < 20; count += 1) {
      given.push(epochs.next());
      await Promise.resolve().then(() => Promise.resolve());
    }
    expect(given).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
  });

  test('are not granted when no more can be reserved', async () => {
    let broken = false;
    const memory = newMemoryEpochs();
    const store: EpochStore = {
      reserve: (count) => (broken ? Promise.reject(new Error('the disk is full')) : memory.reserve(count)),
    };
    const epochs = await openEpochs(store, 2);
    broken = true;
    const settle = (): Promise<void> =>
      new Promise((resolve) => {
        setImmediate(resolve);
      });
    expect([epochs.next(), epochs.next(), epochs.next()]).toEqual([1, 2, null]);
    await settle();
    broken = false;
    expect(epochs.next()).toBeNull();
    await settle();
    expect(epochs.next()).toBe(3);
  });

  test('are not read from a file without a number', async () => {
    const path = await mkdtemp(join(tmpdir(), 'refold-epochs-'));
    await writeFile(join(path, 'epochs'), '12');
    await expect(openEpochs(openFileEpochs(join(path, 'epochs')))).rejects.toThrow('does not contain a number');
    await rm(path, { recursive: true });
  });
});
