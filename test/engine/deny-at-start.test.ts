// A brake holds: calls that a bridge has leased and not started never start once they are denied, whatever process restarts.
import { left } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { BRIDGE } from '../../schemas/access.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { withAccess } from '../../src/client/with-access.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { A, B, SESSION, callsIn, newWorld, packageOf, settled, started } from '../support/engine/world.ts';
import { ASKS, BARRIER, FREE, HOSTED, ONCE, tool } from '../support/tools.ts';

const LOOK = tool('look', {
  mode: 'read',
  read_only: true,
  destructive: false,
  parallelism_hint: { parallel_safe: true },
});
const TOOLS = [LOOK, FREE, ONCE, HOSTED, BARRIER];
const braking = { kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.read_only } as const;

async function leasing(...names: readonly string[]) {
  const world = await newWorld();
  const { talk } = world;
  await talk.create(packageOf(TOOLS));
  await talk.submit([{ kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready' } }]);
  await talk.calls(...names.map((name) => [name, name] as const));
  const calls = new Map(callsIn(await talk.lease(A)).map((call) => [call.call_id as string, call]));
  return { world, callOf: (id: string) => calls.get(id) ?? expect.fail(`${id} was not leased`) };
}

test.each(['before', 'after'] as const)('a leased call is lost, and its start refused %s a restart', async (when) => {
  const { world, callOf } = await leasing('free', 'look');
  await world.talk.submit([braking]);
  if (when === 'after') await world.restart();
  const { talk } = world;
  expect(await talk.lost(A, 'batch-1/free/1', 'batch-1/look/1')).toEqual(['batch-1/free/1']);
  expect(await talk.leased(B, { tools: ['free'] })).toEqual([]);
  expect(await talk.outcome(started(callOf('free'), A), A)).toBe('call_already_settled');
  expect(await talk.outcome(settled(callOf('free')), A)).toBe('call_already_settled');
  expect(await talk.outcome(settled(callOf('look')), A)).toBe('done');
});

test('a running call stays with its bridge, which is asked to stop it', async () => {
  const { world, callOf } = await leasing('once', 'free');
  const { talk } = world;
  await talk.submit([started(callOf('once'), A)], A);
  await talk.submit([braking]);
  expect(await talk.leased(B, { kinds: ['tool.cancel'] })).toEqual([]);
  expect(await talk.leased(A, { kinds: ['tool.cancel'] })).toEqual(['batch-1/once/1/cancel']);
  expect(await talk.lost(A, 'batch-1/once/1', 'batch-1/once/1/cancel')).toEqual([]);
  expect(await talk.outcome(settled(callOf('once')), A)).toBe('done');
  expect(await talk.leased(A)).toEqual(['batch-1/settle']);
  expect(await talk.lost(A, 'batch-1/once/1/cancel')).toEqual(['batch-1/once/1/cancel']);
});

test('a call that closes the host session takes the calls that need it from their bridges', async () => {
  const { world, callOf } = await leasing('look', 'hosted', 'free');
  const { talk } = world;
  const closes = { ...settled(callOf('look')), host_session: { host_session_status: 'closed' as const } };
  await talk.submit([closes], A);
  expect(await talk.lost(A, 'batch-1/hosted/1', 'batch-1/free/1')).toEqual(['batch-1/hosted/1']);
  expect(await talk.outcome(started(callOf('hosted'), A), A)).toBe('call_already_settled');
});

test('a call about which the policy asks now is taken from its bridge until a person has answered', async () => {
  const { world, callOf } = await leasing('free');
  const { talk } = world;
  await talk.submit([{ kind: 'ConsentPolicySet', policy: CONSENT_PRESETS.careful }]);
  expect(await talk.lost(A, 'batch-1/free/1')).toEqual(['batch-1/free/1']);
  expect(await talk.outcome(started(callOf('free'), A), A)).toBe('waits_for_person');
  const { arguments_digest, batch_id, call_id } = callOf('free');
  await talk.submit([{ kind: 'user.tool_confirmation', batch_id, call_id, arguments_digest, result: 'allow' }]);
  expect(await talk.leased(B)).toEqual(['batch-1/free/1']);
});

test('what was allowed in one place does not start in another: the bridge reports its place, and the call asks again', async () => {
  const [here, there] = [
    { sandbox: 'bwrap', workspace: '/a' },
    { sandbox: 'none', workspace: '/b' },
  ] as const;
  const world = await newWorld();
  const { talk } = world;
  await talk.create(packageOf([ASKS]));
  await talk.submit([{ kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready', ...here } }]);
  await talk.calls(['asks', 'asks']);
  const state = await talk.state();
  const batch = state.active_tool_batch ?? expect.fail('no batch is open');
  const { arguments_digest, call_id } = batch.plan.planned_calls[0] ?? expect.fail('nothing is planned');
  const allow = {
    kind: 'user.tool_confirmation',
    batch_id: batch.batch_id,
    call_id,
    arguments_digest,
    result: 'allow',
  } as const;
  await talk.submit([{ ...allow, grant: {} }]);
  const grant = await talk.lease(B);
  const effect = callsIn(grant)[0] ?? expect.fail('not leased');
  const startedIn = (place: object) => ({ ...started(effect, B), place }) as never;
  expect(await talk.outcome(startedIn(there), B)).toBe('other_place');
  // As a bridge reports it: under the lease of the call.
  const { effect_id } = effect;
  const leases = [{ effect_id, epoch: grant.epochs[0] ?? expect.fail('no epoch') }];
  const event_id = brand<'EventId'>(`${effect_id}/place/1`);
  const events = [{ kind: 'HostSessionUpdated', event_id, host_session: there } as const];
  const bridge = withAccess(talk.client, BRIDGE);
  expect(await bridge.submit(SESSION, { events, owner: A, leases })()).toMatchObject(left({ code: 'lease_required' }));
  await must(bridge.submit(SESSION, { events, owner: B, leases }));
  expect(await talk.outcome(startedIn(there), B)).toBe('waits_for_person');
});

describe('an event id that names an effect', () => {
  const RESERVED = [
    'batch-1/free/1/settled',
    'batch-1/settle/settled',
    'run-1/turn-2/observed',
    'undo/3/settled',
    'wake/9',
  ];

  test.each([...RESERVED, `run/${'a'.repeat(64)}`, `${digestText('batch-1/free/1')}/settled`])(
    'is not taken by another event: %s',
    async (event_id) => {
      const { world, callOf } = await leasing('free', 'look');
      const { talk } = world;
      const steer = { kind: 'RunSteered', run_id: 'run-1', event_id, input: { text: 'hurry' } } as const;
      expect(await talk.outcome(steer)).toBe('invalid_shape');
      // Nor by the report of a bridge on another effect.
      expect(await talk.outcome({ ...settled(callOf('look')), event_id }, A)).toBe('invalid_shape');
      expect(await talk.outcome({ ...settled(callOf('look')), event_id: 'batch-1/look/1/settled' }, A)).toBe('done');
    },
  );

  test('is the report on it, by its holder', async () => {
    const { world, callOf } = await leasing('look');
    const report = { ...settled(callOf('look')), event_id: `${digestText('batch-1/look/1')}/settled` };
    expect(await world.talk.outcome(report, A)).toBe('done');
  });
});
