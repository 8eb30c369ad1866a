// An engine with more active sessions than it keeps idle ones.
import { type MockInstance, afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { brand } from '../../schemas/ids.ts';
import { IDLE_SESSIONS_MAX } from '../../schemas/limits.ts';
import { must } from '../../src/client/must.ts';
import { LiveSession } from '../../src/engine/append/live-session.ts';
import type { Disk } from '../support/engine/disk.ts';
import { Talk, type World, newWorld, packageOf } from '../support/engine/world.ts';
import { FREE } from '../support/tools.ts';

const SMALL = packageOf([FREE]);

const open = ({ engine }: World, name: string): Promise<Talk> => new Talk(engine.client, brand(name)).create(SMALL);

const loads = ({ calls }: Disk): number => calls.filter((name) => name === 'genesis').length;

/** Makes storage fail after `loadsMax` loads, so that an engine that loads forever fails instead of hanging. */
function failAfter(disk: Disk, loadsMax: number): void {
  disk.fault = ({ name }) => (name === 'genesis' && loads(disk) > loadsMax ? 'refused' : null);
}

async function withRuns(sessions: number): Promise<World> {
  const world = await newWorld();
  failAfter(world.disk, 4 * sessions);
  for (let index = 0; index < sessions; index += 1) await (await open(world, `busy-${index}`)).run();
  return world;
}

describe('with more active sessions than idle ones are kept', () => {
  // The tests share one engine, because it takes long to make so many sessions active.
  let world: World;
  let checks: MockInstance;
  beforeAll(async () => {
    checks = vi.spyOn(LiveSession.prototype, 'isIdle');
    world = await withRuns(IDLE_SESSIONS_MAX + 10);
  });
  afterAll(() => checks.mockRestore());

  test('another idle one checks no active session for eviction', async () => {
    expect(checks).not.toHaveBeenCalled();
    // Of the idle ones, only the one that is evicted is checked.
    for (let index = 0; index <= IDLE_SESSIONS_MAX; index += 1) await (await open(world, `idle-${index}`)).state();
    expect(checks).toHaveBeenCalledTimes(1);
    // What was just created is in memory.
    expect(loads(world.disk)).toBe(0);
  });

  test('an idle session can be followed', async () => {
    const { disk, engine } = world;
    const idle = await open(world, 'idle');
    const before = loads(disk);
    const events = engine.client.follow(idle.id)[Symbol.asyncIterator]();
    const next = events.next();
    await must(engine.client.session(idle.id));
    await idle.run();
    expect((await next).value).toMatchObject({ position: 0 });
    await events.return?.();
    expect(loads(disk)).toBe(before);
  });

  test('each that is loaded becomes active and stays in memory', async () => {
    await world.restart();
    for (let index = 0; index < IDLE_SESSIONS_MAX + 10; index += 1)
      await must(world.engine.client.session(brand(`busy-${index}`)));
    // The followed one has a run, too.
    expect(loads(world.disk)).toBe(IDLE_SESSIONS_MAX + 11);
  });
});

describe('sessions that become idle', () => {
  test('are evicted without a load of another session', async () => {
    const world = await withRuns(IDLE_SESSIONS_MAX + 10);
    const { disk } = world;
    const { client } = world.engine;
    for (let index = 0; index < IDLE_SESSIONS_MAX + 10; index += 1) {
      await new Talk(client, brand(`busy-${index}`)).submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
    }
    const before = loads(disk);
    // The last ones are in memory, the first ones are not.
    await must(client.session(brand(`busy-${IDLE_SESSIONS_MAX + 9}`)));
    expect(loads(disk)).toBe(before);
    await must(client.session(brand('busy-0')));
    expect(loads(disk)).toBe(before + 1);
  });
});
