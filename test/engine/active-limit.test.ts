// An engine with as many active sessions as it allows: it refuses the next one, and the active ones continue.
import { describe, expect, test } from 'vitest';
import { type EventId, brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { Talk, type World, ingress, newWorld, packageOf } from '../support/engine/world.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { FREE } from '../support/tools.ts';

const ACTIVE_MAX = 3;
const GO: EventId = brand('go');

const runs = (id: EventId = GO) => ({
  events: [ingress({ kind: 'RunRequested', event_id: id, input: { text: 'go' } })],
});

const open = ({ engine }: World, name: string): Promise<Talk> =>
  new Talk(engine.client, brand(name)).create(packageOf([FREE]));

const interrupt = (talk: Talk) => talk.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);

async function fullWorld(): Promise<World> {
  const world = await newWorld(newDisk(), newVirtualClock(), { activeSessionsMax: ACTIVE_MAX });
  for (let index = 0; index < ACTIVE_MAX; index += 1) await (await open(world, `busy-${index}`)).run();
  return world;
}

describe('with as many active sessions as an engine allows', () => {
  test('a session that would become active is refused with a remedy, and nothing is recorded', async () => {
    const world = await fullWorld();
    const next = await open(world, 'next');
    expect(await refusal(world.engine.client.submit(next.id, runs()))).toMatchObject({
      code: 'too_many_active_sessions',
      path: '/events/0',
      message: `${ACTIVE_MAX} sessions are active, of at most ${ACTIVE_MAX}; finish or interrupt a run, then try again`,
    });
    expect((await next.state()).version).toBe(0);
  });

  test('an event that starts no work is accepted', async () => {
    const world = await fullWorld();
    const next = await open(world, 'next');
    await next.submit([{ kind: 'ToolOverridesSet', scope: 'session', disable: [] }]);
    expect((await next.state()).version).toBe(1);
  });

  test('active sessions continue, and one that becomes idle makes room', async () => {
    const world = await fullWorld();
    const next = await open(world, 'next');
    expect(await outcome(world.engine.client.submit(next.id, runs()))).toBe('too_many_active_sessions');
    const busy = new Talk(world.engine.client, brand('busy-1'));
    await busy.submit([{ kind: 'FollowUpQueued', follow_up: { input: { text: 'more' } } }]);
    await interrupt(new Talk(world.engine.client, brand('busy-0')));
    await must(world.engine.client.submit(next.id, runs()));
    expect((await next.state()).run).not.toBeNull();
    expect(await outcome(world.engine.client.submit((await open(world, 'later')).id, runs()))).toBe(
      'too_many_active_sessions',
    );
  });

  test('a request that is sent again gets its first answer', async () => {
    const world = await newWorld(newDisk(), newVirtualClock(), { activeSessionsMax: ACTIVE_MAX });
    const first = await open(world, 'first');
    const receipt = await must(world.engine.client.submit(first.id, runs()));
    await interrupt(first);
    for (let index = 0; index < ACTIVE_MAX; index += 1) await (await open(world, `busy-${index}`)).run();
    const again = await must(world.engine.client.submit(first.id, runs()));
    expect(again.events).toEqual(receipt.events.map((event) => ({ ...event, repeated: true })));
    expect(await outcome(world.engine.client.submit(first.id, runs(brand('other'))))).toBe('too_many_active_sessions');
  });

  test('a fork is refused', async () => {
    const world = await fullWorld();
    expect(await outcome(world.engine.client.fork(brand('busy-0'), { run: 'pause' }))).toBe('too_many_active_sessions');
  });

  test('all of them are loaded after a restart, also by an engine that allows fewer', async () => {
    const world = await fullWorld();
    await world.restart({ activeSessionsMax: 1 });
    for (let index = 0; index < ACTIVE_MAX; index += 1) {
      const { state } = await must(world.engine.client.session(brand(`busy-${index}`)));
      expect(state.run).not.toBeNull();
    }
  });
});
