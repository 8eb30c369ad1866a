// The engine writes a bounded number of snapshots in the background, and never delays an append.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Version } from '../../schemas/ids.ts';
import {
  SNAPSHOTS_KEPT,
  SNAPSHOT_DELAY_MS,
  SNAPSHOT_EVERY_CHARS,
  SNAPSHOT_EVERY_EVENTS,
} from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { must } from '../../src/client/must.ts';
import { stateBytes } from '../../src/core/index.ts';
import { newDisk } from '../support/engine/disk.ts';
import { SESSION, type Talk, type World, durable, newWorld, packageOf } from '../support/engine/world.ts';
import { FREE } from '../support/tools.ts';

const PAUSE = { kind: 'RunPaused', run_id: 'run-1' } as const;
const RESUME = { kind: 'RunResumed', run_id: 'run-1' } as const;

/** Appends this many events, two in each request. */
async function grow(talk: Talk, events: number): Promise<void> {
  for (let at = 0; at < events; at += 2) await talk.submit([PAUSE, RESUME]);
}

async function running(): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  await world.talk.run();
  return world;
}

const versions = (world: World): Promise<readonly Version[]> => must(world.disk.journal.snapshots.versions(SESSION));

describe('snapshots', () => {
  test('are written once enough new events are recorded, after the answer', async () => {
    const world = await running();
    await grow(world.talk, SNAPSHOT_EVERY_EVENTS - 2);
    await world.clock.advance(10 * SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([]);
    await grow(world.talk, 2);
    expect(world.disk.calls.at(-1)).toBe('append');
    expect(await versions(world)).toEqual([]);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([SNAPSHOT_EVERY_EVENTS + 1]);
    const snapshot = await must(world.disk.journal.snapshots.get(SESSION, (SNAPSHOT_EVERY_EVENTS + 1) as Version));
    expect(snapshot?.state).toBe(new TextDecoder().decode(stateBytes(await durable(world.disk))));
  });

  test('are written after few events when these are large', async () => {
    const world = await newWorld();
    await world.talk.create(packageOf([FREE]));
    const many = Array.from({ length: 200 }, (_, index) => ({
      call_id: `c${index}`,
      tool_name: 'free',
      arguments: { text: 'x'.repeat(4_000) },
    }));
    let events = 0;
    for (let sent = 0; sent < SNAPSHOT_EVERY_CHARS; sent += 800_000) {
      const run_id = `run-${events / 3 + 1}`;
      await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go' } }]);
      await world.talk.submit([{ kind: 'ToolCallsObserved', run_id, turn: 1, calls: many }]);
      await world.talk.submit([{ kind: 'RunCancelled', run_id, reason: 'no' }]);
      events += 3;
    }
    expect(events).toBeLessThan(SNAPSHOT_EVERY_EVENTS);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([events]);
  });

  test('make the next load short', async () => {
    const world = await running();
    await grow(world.talk, 3 * SNAPSHOT_EVERY_EVENTS);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    await grow(world.talk, 10);
    const before = await must(world.engine.client.session(SESSION));
    world.disk.calls.length = 0;
    await world.restart();
    expect(await must(world.engine.client.session(SESSION))).toEqual(before);
    // The commit that the snapshot ends with, the one before it, and what comes after.
    const reads = ['read', 'read', 'read', 'read'];
    const calls = world.disk.calls.filter((name) => name !== 'due');
    expect(calls).toEqual(['sessions', 'genesis', 'snapshot versions', 'snapshot get', ...reads]);
  });

  test('may be deleted at any time, and are written again', async () => {
    const world = await running();
    await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    const before = await must(world.engine.client.session(SESSION));
    for (const version of await versions(world)) await must(world.disk.journal.snapshots.drop(SESSION, version));
    await world.restart();
    expect(await must(world.engine.client.session(SESSION))).toEqual(before);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([before.state.version]);
  });

  test('that are wrong are kept for an audit until there is a right one', async () => {
    const world = await running();
    await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
    const at = (await world.talk.state()).version;
    const wrong = { session_id: SESSION, version: (at - 1) as Version, state: '{}' };
    const digest = `sha256:${'0'.repeat(64)}` as never;
    await world.restart();
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    await must(world.disk.journal.snapshots.drop(SESSION, at));
    await must(world.disk.journal.snapshots.put({ ...wrong, state_digest: digest, chain: digest }));
    await world.restart();
    await world.talk.state();
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([at - 1]);
    await grow(world.talk, 2);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    expect(await versions(world)).toEqual([at + 2]);
  });

  test('are few in a session of any length', async () => {
    const world = await running();
    for (let round = 0; round < SNAPSHOTS_KEPT + 3; round += 1) {
      await grow(world.talk, 2 * SNAPSHOT_EVERY_EVENTS);
      await world.clock.advance(SNAPSHOT_DELAY_MS);
    }
    expect(await versions(world)).toHaveLength(SNAPSHOTS_KEPT);
    expect(world.disk.calls.filter((name) => name === 'snapshot put')).toHaveLength(SNAPSHOTS_KEPT + 3);
  });

  test.each(['refused', 'full', 'throws', 'unknown'] as const)(
    'that fail (%s) make nothing else fail',
    async (fault) => {
      const world = await running();
      world.disk.fault = ({ name }) => (name.startsWith('snapshot') ? fault : null);
      await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
      await world.clock.advance(SNAPSHOT_DELAY_MS);
      expect(world.disk.calls.at(-1)).toBe('snapshot put');
      await grow(world.talk, 10);
      await world.clock.advance(1_000);
      // It is not tried again for every further event.
      expect(world.disk.calls.filter((name) => name === 'snapshot put')).toHaveLength(1);
      world.disk.fault = () => null;
      await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
      await world.clock.advance(SNAPSHOT_DELAY_MS);
      expect(await versions(world)).toHaveLength(1);
      expect(stateBytes(await world.talk.state())).toEqual(stateBytes(await durable(world.disk)));
    },
  );

  test('that hang delay neither appends nor other sessions', async () => {
    const disk = newDisk();
    const kept = { ...disk.journal.snapshots };
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    Object.assign(disk.journal.snapshots, {
      put: (snapshot: Snapshot) => async () => {
        await held;
        return await kept.put(snapshot)();
      },
    });
    const world = await newWorld(disk);
    await world.talk.create();
    await world.talk.run();
    await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
    await world.clock.advance(SNAPSHOT_DELAY_MS);
    await grow(world.talk, SNAPSHOT_EVERY_EVENTS);
    expect(await versions(world)).toEqual([]);
    release();
    await world.engine.close();
    expect(await versions(world)).toEqual([SNAPSHOT_EVERY_EVENTS + 1]);
    expect(isLeft(await world.engine.client.info()())).toBe(true);
  });
});
