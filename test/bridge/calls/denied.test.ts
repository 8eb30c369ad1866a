// What a bridge does with calls that are denied after it leased them.
import { expect, test } from 'vitest';
import { CONSENT_PRESETS } from '../../../src/toolsets/consent-presets.ts';
import { SESSION, call, newWorld, statusOf } from '../../support/bridge/harness.ts';

const braking = { kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.read_only } as const;

test('those that wait never run; one that runs is stopped if its tool is cancelled by interrupts', async () => {
  const turns = [
    [
      call('runs', 'write', { ms: 50_000, path: 'p' }),
      call('waits', 'write', { ms: 5, path: 'p' }),
      call('again', 'again', { ms: 5, path: 'p' }),
    ],
  ];
  const world = newWorld({ turns });
  world.start();
  world.request();
  await world.clock.until(() => world.ran.length === 1);
  world.engine.record(SESSION, braking);
  await world.finish();
  expect(statusOf(world)).toBe('completed');
  expect(world.ran).toMatchObject([{ call_id: 'runs', aborted: true }]);
  expect(world.engine.of('ToolCallStarted').map(({ call_id }) => call_id)).toEqual(['runs']);
  expect(world.engine.of('ToolCallSettled')).toMatchObject([{ call_id: 'runs', outcome: 'cancelled' }]);
});

test('one that blocks interrupts runs to its end, and the calls behind it never start', async () => {
  const world = newWorld({ turns: [[call('blocks', 'solo', { ms: 9_000 }), call('waits', 'solo', { ms: 5 })]] });
  world.start();
  world.request();
  await world.clock.until(() => world.ran.length === 1);
  world.engine.record(SESSION, braking);
  await world.finish();
  expect(world.ran).toMatchObject([{ call_id: 'blocks', aborted: false }]);
  expect(world.engine.of('ToolCallSettled')).toMatchObject([{ call_id: 'blocks', outcome: 'succeeded' }]);
});

test('stopping one call leaves the others of its batch to run', async () => {
  const turns = [[call('runs', 'write', { ms: 50_000, path: 'a' }), call('behind', 'again', { ms: 5, path: 'a' })]];
  const world = newWorld({ turns });
  world.start();
  world.request();
  await world.clock.until(() => world.ran.length === 1);
  world.engine.record(SESSION, {
    kind: 'ToolOverridesSet',
    scope: 'session',
    disable: ['test.write' as never],
  });
  await world.finish();
  expect(world.ran).toMatchObject([
    { call_id: 'runs', aborted: true },
    { call_id: 'behind', aborted: false },
  ]);
  expect(world.clock.now() - 1_000_000).toBeLessThan(30_000);
});

test('a start that the engine refuses runs nothing', async () => {
  const world = newWorld({ turns: [[call('w', 'write', { ms: 5 })]] });
  let braked = false;
  world.engine.fault = (submit) => {
    if (!braked && submit.events.some(({ kind }) => kind === 'ToolCallStarted')) {
      braked = true;
      world.engine.record(SESSION, braking);
    }
    return null;
  };
  world.start();
  world.request();
  await world.finish();
  expect([braked, world.ran, statusOf(world)]).toEqual([true, [], 'completed']);
});
