// A bridge that is stopped for longer than its leases last, and then goes on as if nothing had happened: what it says
// then is refused as stale, somebody else has done its work, and nothing that may not be repeated runs twice.
import { afterEach, expect, test } from 'vitest';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { replay } from '../../src/core/index.ts';
import { CrashWorld, type LogLine } from '../support/e2e/crash-world.ts';
import { must } from '../../src/client/must.ts';
import { eventsUntil } from '../support/e2e/refold.ts';

let world: CrashWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

async function startRun(seconds: number): Promise<{ readonly crash: CrashWorld; readonly id: SessionId }> {
  const crash = await CrashWorld.open(seconds);
  world = crash;
  const id = await crash.createSession('s0');
  await crash.startBridge('one');
  return { crash, id };
}

const goOn = (crash: CrashWorld, id: SessionId): Promise<void> =>
  crash.tell(id, { kind: 'RunRequested', event_id: brand('go'), input: { text: 's0-r0' } });

const by = (bridge: string, event: string) => (line: LogLine) => line['bridge'] === bridge && line['event'] === event;

/** It has learnt that it was away for too long: by its heartbeat, or by what it was told when it reported. */
const isTooLate = (line: LogLine): boolean =>
  by('one', 'lease_lost')(line) || (by('one', 'report_refused')(line) && LATE.has(String(line['code'])));

const LATE: ReadonlySet<string> = new Set(['stale_lease', 'call_already_settled', 'batch_not_active', 'wrong_batch']);

async function expectOneEnd(crash: CrashWorld, id: SessionId): Promise<void> {
  await crash.idle(id);
  const records = await must(crash.client.records(id));
  const view = await must(crash.client.session(id));
  expect(replay(records)).toMatchObject({ divergence: null, stateDigest: view.state_digest });
  expect(view.state.run_history).toMatchObject([{ ending: { outcome: 'completed' } }]);
  const marks = await crash.marks();
  expect(new Set(marks).size).toBe(marks.length);
}

test('stopped while the model thinks: the answer of the one that has the turn now counts, and no other', async () => {
  const { crash, id } = await startRun(0);
  crash.model.hold();
  await goOn(crash, id);
  await crash.said('the first asks', by('one', 'generate_started'));
  crash.signal('one', 'SIGSTOP');
  await crash.startBridge('two');
  await crash.said('the second asks, once the lease is lost', by('two', 'generate_started'));
  crash.model.release();
  crash.signal('one', 'SIGCONT');
  await crash.said('the first is told', isTooLate);
  await expectOneEnd(crash, id);
  const records = await must(crash.client.records(id));
  const turns = records.flatMap((record) =>
    record.kind === 'event' && record.event.kind === 'ToolCallsObserved' ? [record.event.turn] : [],
  );
  expect(turns).toEqual([1, 2, 3]);
});

test('stopped amid a call that may not be repeated: it is settled as unknown once, and never runs again', async () => {
  const { crash, id } = await startRun(2);
  await goOn(crash, id);
  await crash.said('a command runs', (line) => by('one', 'call_started')(line) && line['tool_id'] === 'host.exec');
  crash.signal('one', 'SIGSTOP');
  await crash.startBridge('two');
  const events = await eventsUntil(crash.client, id, ({ event }) => event.kind === 'LeaseExpired');
  const lost = events.flatMap(({ event }) => (event.kind === 'LeaseExpired' ? [event.call_id] : []));
  crash.signal('one', 'SIGCONT');
  await crash.said('the first is told', isTooLate);
  await expectOneEnd(crash, id);
  const records = await must(crash.client.records(id));
  const ends = records.flatMap((record) =>
    record.kind === 'event' && record.event.kind === 'ToolCallSettled' ? [record.event.call_id] : [],
  );
  expect(lost).toEqual(['s0-r0-1-mark']);
  expect(ends).not.toContain('s0-r0-1-mark');
});
