// A bridge that is stopped for longer than its leases last, then continued: its reports are refused as stale, another
// bridge has done its work, and no call that must not be repeated runs twice.
import { afterEach, expect, test } from 'vitest';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { replay } from '../../src/core/index.ts';
import { CrashWorld, type LogLine } from '../support/e2e/crash-world.ts';
import { must } from '../../src/client/must.ts';
import { eventsUntil } from '../support/e2e/refold.ts';
import { eventsOf } from '../support/records.ts';

let world: CrashWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

async function startRun(seconds: number): Promise<{ readonly crash: CrashWorld; readonly id: SessionId }> {
  const crash = await CrashWorld.open({ seconds });
  world = crash;
  const id = await crash.createSession('s0');
  await crash.startBridge('one');
  return { crash, id };
}

const requestRun = (crash: CrashWorld, id: SessionId): Promise<void> =>
  crash.submit(id, { kind: 'RunRequested', event_id: brand('go'), input: { text: 's0-r0' } });

const by = (bridge: string, event: string) => (line: LogLine) => line['bridge'] === bridge && line['event'] === event;

/** Whether bridge one has learned that its lease is lost: from its heartbeat, or from the refusal of a report. */
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

test('a bridge stopped during a model request: only the answer of its successor counts', async () => {
  const { crash, id } = await startRun(0);
  crash.model.hold();
  await requestRun(crash, id);
  await crash.untilPrinted('bridge one asks the model', by('one', 'generate_started'));
  crash.signal('one', 'SIGSTOP');
  await crash.startBridge('two');
  await crash.untilPrinted('bridge two asks the model after the lease expired', by('two', 'generate_started'));
  crash.model.release();
  crash.signal('one', 'SIGCONT');
  await crash.untilPrinted('bridge one learns that its lease is lost', isTooLate);
  await expectOneEnd(crash, id);
  const records = await must(crash.client.records(id));
  const turns = eventsOf(records).flatMap((event) => (event.kind === 'ToolCallsObserved' ? [event.turn] : []));
  expect(turns).toEqual([1, 2, 3]);
});

test('a bridge stopped during a call that must not be repeated: the call settles as unknown once and never runs again', async () => {
  const { crash, id } = await startRun(2);
  await requestRun(crash, id);
  await crash.untilPrinted(
    'a command runs',
    (line) => by('one', 'call_started')(line) && line['tool_id'] === 'host.exec',
  );
  crash.signal('one', 'SIGSTOP');
  await crash.startBridge('two');
  const events = await eventsUntil(crash.client, id, ({ event }) => event.kind === 'LeaseExpired');
  const lost = events.flatMap(({ event }) => (event.kind === 'LeaseExpired' ? [event.call_id] : []));
  crash.signal('one', 'SIGCONT');
  await crash.untilPrinted('bridge one learns that its lease is lost', isTooLate);
  await expectOneEnd(crash, id);
  const records = await must(crash.client.records(id));
  const ends = eventsOf(records).flatMap((event) => (event.kind === 'ToolCallSettled' ? [event.call_id] : []));
  expect(lost).toEqual(['s0-r0-1-mark']);
  expect(ends).not.toContain('s0-r0-1-mark');
});
