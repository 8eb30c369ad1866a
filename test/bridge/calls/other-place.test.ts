// A bridge in another place than the session's runs nothing that a person allowed there.
import { expect, test } from 'vitest';
import type { Executor } from '../../../bridge/executors/executors.ts';
import { SESSION, call, newWorld, statusOf } from '../../support/bridge/harness.ts';

const HERE = { sandbox: 'bwrap', workspace: '/a' } as const;
const THERE = { sandbox: 'none', workspace: '/b', commands_share_user: true } as const;

test.each(['asks', 'asks_read'])('a call of "%s" asks again there, and runs when it is allowed again', async (name) => {
  const ran: string[] = [];
  const executor: Executor = {
    tools: ['test.*'],
    place: THERE,
    run: async ({ call_id }) => {
      ran.push(call_id);
      return { success: true, text: 'done' };
    },
  };
  const world = newWorld({ turns: [[call('a', name)]] });
  const { engine, clock } = world;
  const waits = (): boolean => (engine.state(SESSION).active_tool_batch?.waiting ?? 0) > 0;
  const allow = (): void => {
    const batch = engine.state(SESSION).active_tool_batch ?? expect.fail('no batch is open');
    const { call_id, arguments_digest } = batch.plan.planned_calls[0] ?? expect.fail('nothing is planned');
    const { batch_id } = batch;
    const grant = { grant: {} };
    engine.record(SESSION, {
      kind: 'user.tool_confirmation',
      batch_id,
      call_id,
      arguments_digest,
      result: 'allow',
      ...grant,
    });
  };
  engine.record(SESSION, { kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready', ...HERE } });
  world.start({ executors: [executor] });
  world.request();
  await clock.until(waits);
  allow();
  await clock.until(waits);
  expect([ran, engine.state(SESSION).consent.grants]).toEqual([[], []]);
  expect(engine.state(SESSION).tool_runtime_context).toMatchObject(THERE);
  allow();
  await world.finish();
  expect([ran, statusOf(world)]).toEqual([['a'], 'completed']);
  expect(engine.of('ToolCallStarted')).toMatchObject([{ place: THERE }]);
});
