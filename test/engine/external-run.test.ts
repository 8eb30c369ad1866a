// The calls of an external run: its host makes them under no lease, and no bridge may make them for it.
import { expect, test } from 'vitest';
import { BRIDGE } from '../../schemas/access.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { withAccess } from '../../src/client/with-access.ts';

import { A, SESSION, callsIn, ingress, newWorld, packageOf, settled } from '../support/engine/world.ts';
import { FREE } from '../support/tools.ts';

const config = { provider: 'external', model: 'host' };
const calls = [{ call_id: 'a', tool_name: 'free', arguments: {} }];
const observed = ingress({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls });

async function running() {
  const world = await newWorld();
  await world.talk.create(packageOf([FREE]));
  await world.talk.submit([{ kind: 'RunRequested', input: { text: 'go' }, run_overrides: config }]);
  return world;
}

test('an operator reports the calls without a lease; the bridge runs them, and owes no generate', async () => {
  const { engine, talk } = await running();
  expect(await talk.leased(A, { wait_ms: 0 })).toEqual([]);
  expect((await must(engine.client.submit(SESSION, { events: [observed] }))).version).toBe(2);
  const [call] = callsIn(await talk.lease(A));
  await talk.submit([settled(call ?? expect.fail('no call is leased'))], A);
  expect(await talk.leased(A)).toEqual(['batch-1/settle']);
});

test('a bridge is refused', async () => {
  const { engine } = await running();
  const bridge = withAccess(engine.client, BRIDGE);
  expect(await bridge.submit(SESSION, { events: [observed], owner: A })()).toMatchObject({
    left: { code: 'forbidden', path: '/owner' },
  });
});

test('the effect of a run with a model is reported under its lease, as before', async () => {
  const world = await newWorld();
  await world.talk.create(packageOf([FREE]));
  await world.talk.run();
  const events = [observed];
  expect(await world.engine.client.submit(brand(SESSION), { events })()).toMatchObject({
    left: { code: 'lease_required' },
  });
});
