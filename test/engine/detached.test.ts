// A call that continues after an interrupt stays held by the bridge that runs it, also across a restart.
import { expect, test } from 'vitest';
import type { EffectOfKind } from '../../schemas/effect.ts';
import {
  A,
  B,
  type LooseIngress,
  TTL_MS,
  type World,
  callsIn,
  newWorld,
  packageOf,
  settled,
  started,
} from '../support/engine/world.ts';
import { tool } from '../support/tools.ts';

const CONTINUES = tool('continues', { parallelism_hint: { parallel_safe: true }, interrupt_behavior: 'continue' });

async function withDetached(): Promise<{ readonly world: World; readonly call: EffectOfKind<'tool.call'> }> {
  const world = await newWorld();
  await world.talk.create(packageOf([CONTINUES]));
  await world.talk.calls(['a', 'continues']);
  const [call] = callsIn(await world.talk.lease(A));
  if (call === undefined) throw new Error('nothing was leased');
  await world.talk.submit([started(call, A)], A);
  await world.talk.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
  expect(await world.talk.state()).toMatchObject({ run: null, detached: [{ call_id: 'a', owner: 'bridge-a' }] });
  return { world, call };
}

test.each([false, true])(
  'a detached call is kept by heartbeats, and only its bridge may report it (restarted: %s)',
  async (restarted) => {
    const { world, call } = await withDetached();
    if (restarted) await world.restart();
    const { talk, clock } = world;
    for (let beat = 0; beat < 6; beat += 1) {
      await clock.advance(TTL_MS / 2);
      expect(await talk.lost(A, 'batch-1/a/1')).toEqual([]);
    }
    expect(await talk.leased(B)).toEqual([]);
    expect(await talk.outcome(settled(call), B)).toBe('stale_lease');
    expect(await talk.outcome(settled(call), A)).toBe('done');
    expect(await talk.state()).not.toHaveProperty('detached');
  },
);

test('a detached call ends when its bridge sends no heartbeats', async () => {
  const { world } = await withDetached();
  await world.clock.advance(3 * TTL_MS);
  expect(await world.talk.state()).not.toHaveProperty('detached');
});

test('nothing is undone while a detached call may still write; when it has settled, its files can be put back too', async () => {
  const world = await newWorld();
  await world.talk.create(packageOf([CONTINUES]));
  await world.talk.calls(['w', 'continues'], ['late', 'continues']);
  const [w, late] = callsIn(await world.talk.lease(A));
  if (w === undefined || late === undefined) throw new Error('nothing was leased');
  const changed = (call: typeof w, path: string): LooseIngress =>
    ({ ...settled(call), changes: [{ path, before: null, after_digest: null }] }) as LooseIngress;
  await world.talk.submit([started(w, A), started(late, A), changed(w, 'a')], A);
  await world.talk.submit([{ kind: 'user.interrupt', run_id: 'run-1' }]);
  const ask = (call_id: string): Promise<string> => world.talk.outcome({ kind: 'UndoRequested', call_id });
  expect([await ask('w'), await ask('late')]).toEqual(['write_running', 'write_running']);
  await world.talk.submit([changed(late, 'b')], A);
  expect([await ask('late'), await ask('w')]).toEqual(['done', 'done']);
  expect((await world.talk.state()).undos).toMatchObject([{ call_id: 'late' }, { call_id: 'w' }]);
});
