// The engine tells of its own faults, with the session: each once, however often it is tried again.
import { isLeft, left } from 'fp-ts/lib/Either.js';
import { expect, test } from 'vitest';
import { RETRY_MS } from '../../schemas/limits.ts';
import { reject } from '../../schemas/rejection.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import type { EngineFault } from '../../src/engine/faults.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { SESSION, Talk } from '../support/engine/world.ts';

/** An engine with a session, or one over the disk of another engine that has created it. */
async function faulty(change: (journal: Journal) => Partial<Journal>, stored?: Disk) {
  const disk = stored ?? newDisk();
  const clock = newVirtualClock();
  const told: EngineFault[] = [];
  const { journal, blobs } = disk.ports();
  const tellFault = (fault: EngineFault): void => void told.push(fault);
  const ports = { journal: { ...journal, ...change(journal) }, blobs, clock, tellFault, snapshotEveryEvents: 1 };
  const engine = await must(startEngine(ports));
  const talk = new Talk(engine.client);
  if (stored === undefined) await talk.create();
  return { disk, clock, told, talk, engine };
}

const thrown = (): never => {
  throw new TypeError('made to throw');
};

test('a time that storage does not accept is told once, and recorded when it does', async () => {
  const { disk, clock, told, talk } = await faulty(() => ({}));
  const wall = { kind: 'RunRequested', input: { text: 'go' }, run_overrides: { wall_ms_max: 1_000 } } as const;
  await talk.submit([wall]);
  disk.fault = ({ name }) => (name === 'append' ? 'refused' : null);
  await clock.advance(1_000 + 3 * RETRY_MS);
  expect(told).toMatchObject([{ session_id: SESSION, doing: 'recording TimeReached', reason: 'made to fail' }]);
  disk.fault = () => null;
  await clock.advance(RETRY_MS);
  expect((await talk.state()).run).toBeNull();
});

test('an error during a write is told with the session and where it arose', async () => {
  const { told, talk } = await faulty(() => ({ append: () => thrown }));
  expect(isLeft(await talk.client.submit(SESSION, { events: [{ kind: 'SessionConfigured', config: {} }] })())).toBe(
    true,
  );
  expect(told).toMatchObject([{ session_id: SESSION, doing: 'writing events' }]);
  expect(told[0]?.reason).toMatch(/^made to throw \(at /);
});

test('a load that throws is told', async () => {
  const { disk } = await faulty(() => ({}));
  const { told, talk } = await faulty(
    (journal) => ({ read: (...given) => (given[2] > 1 ? thrown : journal.read(...given)) }),
    disk,
  );
  expect(isLeft(await talk.client.session(SESSION)())).toBe(true);
  expect(told).toMatchObject([{ session_id: SESSION, doing: 'loading it' }]);
});

test('a snapshot that is not written is told, and the session goes on', async () => {
  const refused = left(reject('storage_full', '', 'no room'));
  const { told, talk, clock } = await faulty((journal) => ({
    snapshots: { ...journal.snapshots, put: () => async () => refused },
  }));
  await talk.submit([{ kind: 'SessionConfigured', config: {} }]);
  await clock.advance(1_000);
  expect(told).toMatchObject([{ session_id: SESSION, doing: 'writing a snapshot', reason: 'no room' }]);
  await talk.submit([{ kind: 'SessionConfigured', config: {} }]);
});

test('times that cannot be read are told', async () => {
  const { told, clock } = await faulty(() => ({ due: () => thrown }));
  await clock.advance(3 * RETRY_MS);
  expect(told).toMatchObject([{ session_id: null, doing: 'reading the times that sessions wait for' }]);
});
