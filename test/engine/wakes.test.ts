// Times that the state of a session waits for, on a virtual clock.
import { describe, expect, test } from 'vitest';
import { RETRY_MS, WAKE_CHECK_MS_MAX } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { newDisk } from '../support/engine/disk.ts';
import { type VirtualClock, newVirtualClock } from '../support/engine/virtual-clock.ts';
import { SESSION, type World, newWorld } from '../support/engine/world.ts';
import { eventsOf } from '../support/records.ts';

const HOUR_MS = 3_600_000;

/** A session whose host session expires in `inMs` milliseconds. */
async function expiring(inMs: number): Promise<World> {
  const world = await newWorld();
  await world.talk.create();
  await ready(world, inMs);
  return world;
}

const ready = (world: World, inMs: number): Promise<unknown> =>
  world.talk.submit([
    {
      kind: 'HostSessionUpdated',
      host_session: {
        host_session_id: 'host-1',
        host_session_status: 'ready',
        expires_at_ms: world.clock.now() + inMs,
      },
    },
  ]);

const statusOf = async ({ talk }: World): Promise<string | null> =>
  (await talk.state()).tool_runtime_context.host_session_status;

const wakesOf = async ({ talk }: World): Promise<readonly number[]> =>
  eventsOf(await must(talk.client.records(SESSION))).flatMap((event) =>
    event.kind === 'TimeReached' ? [event.at_ms] : [],
  );

describe('a time that a session waits for', () => {
  test('is reported when it comes, and not before', async () => {
    const world = await expiring(HOUR_MS);
    await world.clock.advance(HOUR_MS - 1);
    expect(await statusOf(world)).toBe('ready');
    await world.clock.advance(1);
    expect(await statusOf(world)).toBe('expired');
    expect(world.clock.pending()).toBe(0);
  });

  test('is replaced when another one is set', async () => {
    const world = await expiring(1_000);
    await ready(world, 5_000);
    await world.clock.advance(4_999);
    expect(await statusOf(world)).toBe('ready');
    await world.clock.advance(1);
    expect(await statusOf(world)).toBe('expired');
  });

  test('is reported again when the same time is set again', async () => {
    const world = await expiring(0);
    await world.clock.advance(0);
    expect(await statusOf(world)).toBe('expired');
    await ready(world, 0);
    await world.clock.advance(0);
    expect(await statusOf(world)).toBe('expired');
    expect(await wakesOf(world)).toHaveLength(2);
  });

  test('is not reported by a client, before or after it comes', async () => {
    const world = await expiring(HOUR_MS);
    const due_at_ms = world.clock.now() + HOUR_MS;
    expect(await world.talk.outcome({ kind: 'TimeReached', due_at_ms })).toBe('forbidden_scope');
    world.clock.jump(HOUR_MS);
    expect(await world.talk.outcome({ kind: 'TimeReached', due_at_ms })).toBe('forbidden_scope');
    expect(await statusOf(world)).toBe('ready');
  });

  test('is reported in time when the clock goes back at the moment it comes', async () => {
    const clock = newVirtualClock();
    let jumps = 1;
    const after: VirtualClock['after'] = (ms, fire) =>
      clock.after(ms, () => {
        if (jumps > 0) clock.jump(-5_000);
        jumps -= 1;
        fire();
      });
    const world = await newWorld(newDisk(), { ...clock, after });
    await world.talk.create();
    await ready(world, 1_000);
    await clock.advance(1_000);
    expect(await statusOf(world)).toBe('expired');
    expect(clock.pending()).toBe(0);
  });

  test('is kept across a restart of the engine, also without a run', async () => {
    const world = await expiring(5_000);
    await world.restart();
    expect((await must(world.talk.client.sessions())).sessions).toMatchObject([{ owing: false }]);
    await world.clock.advance(5_000);
    expect(await statusOf(world)).toBe('expired');
    expect(await wakesOf(world)).toEqual([world.clock.now()]);
  });

  test('is reported at the start when it came while the engine was down', async () => {
    const world = await expiring(5_000);
    await world.engine.close();
    world.clock.jump(60_000);
    await world.restart();
    await world.clock.advance(0);
    expect(await statusOf(world)).toBe('expired');
  });

  test('is reported soon when the clock jumps over it, and in time when the clock jumps back', async () => {
    const forward = await expiring(HOUR_MS);
    forward.clock.jump(HOUR_MS);
    await forward.clock.advance(WAKE_CHECK_MS_MAX);
    expect(await statusOf(forward)).toBe('expired');
    const back = await expiring(1_000);
    back.clock.jump(-HOUR_MS);
    await back.clock.advance(999);
    expect(await statusOf(back)).toBe('ready');
    await back.clock.advance(1);
    expect(await statusOf(back)).toBe('expired');
  });

  test.each(['refused', 'unknown', 'lost_ack', 'throws'] as const)(
    'is reported once when storage fails (%s)',
    async (fault) => {
      const world = await expiring(1_000);
      let faults = 3;
      world.disk.fault = ({ name }) => {
        if (name !== 'append' || faults === 0) return null;
        faults -= 1;
        return fault;
      };
      await world.clock.advance(1_000 + 5 * RETRY_MS);
      expect(await statusOf(world)).toBe('expired');
      expect(await wakesOf(world)).toHaveLength(1);
      expect(world.clock.pending()).toBe(0);
    },
  );
});

test('an engine that closes while times are read tells no fault', async () => {
  const disk = newDisk();
  let letGo = (): void => undefined;
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => (begin = resolve));
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const ports: typeof disk.ports = () => {
    const { journal, blobs } = disk.ports();
    const due: typeof journal.due =
      (...given) =>
      async () => {
        begin();
        await held;
        return await journal.due(...given)();
      };
    return { blobs, journal: { ...journal, due } };
  };
  const told: string[] = [];
  const world = await newWorld({ ...disk, ports }, undefined, { tellFault: ({ doing }) => void told.push(doing) });
  await begun;
  await world.engine.close();
  letGo();
  await new Promise(setImmediate);
  expect(told).toEqual([]);
});
