// The calls of an external run: its host makes them under no lease, and no bridge may make them for it.
import { afterEach, expect, test } from 'vitest';
import { BRIDGE } from '../../schemas/access.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { withAccess } from '../../src/client/with-access.ts';
import { type Engine, startEngine } from '../../src/engine/engine.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { A, SESSION, callsIn, ingress, leaseRequest, packageOf } from '../support/engine/world.ts';
import { FREE } from '../support/tools.ts';

const calls = [{ call_id: 'a', tool_name: 'free', arguments: {} }];
const observed = ingress({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls });

let engine: Engine;

async function running(provider: string) {
  engine = await must(startEngine({ journal: openMemoryJournal(), blobs: openMemoryBlobs() }));
  const { client } = engine;
  const consent = CONSENT_PRESETS.allow_all;
  const tool_package = packageOf([FREE]);
  await must(client.createSession({ session_id: SESSION, tool_package, consent, config: { provider } }));
  await must(client.submit(SESSION, { events: [ingress({ kind: 'RunRequested', input: { text: 'go' } })] }));
  return client;
}

afterEach(() => engine.close());

test('an operator reports the calls without a lease; the bridge runs them, and is owed no generate', async () => {
  const client = await running('external');
  expect((await must(client.lease(leaseRequest(A)))).effects).toEqual([]);
  expect((await must(client.submit(SESSION, { events: [observed] }))).version).toBe(2);
  const granted = await must(client.lease(leaseRequest(A)));
  expect(callsIn(granted).map(({ call_id }) => call_id)).toEqual(['a']);
});

test('a bridge is refused', async () => {
  const bridge = withAccess(await running('external'), BRIDGE);
  const refused = await bridge.submit(SESSION, { events: [observed], owner: A })();
  expect(refused).toMatchObject({ left: { code: 'forbidden', path: '/events/0/owner' } });
});

test('the calls of a run with a model are reported under its lease, as before', async () => {
  const client = await running('openai');
  const refused = await client.submit(SESSION, { events: [observed] })();
  expect(refused).toMatchObject({ left: { code: 'lease_required' } });
});
