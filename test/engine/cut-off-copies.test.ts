// An import or a fork that stops anywhere leaves nothing that acts: no effect of it is owed, however often it is looked at,
// and no bridge gets work of it (docs/design.md, law 3).
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { EVENTS_PER_COMMIT_MAX } from '../../schemas/limits.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { type Disk, type IoFault, newDisk } from '../support/engine/disk.ts';
import { recordStream, recordsOf, storeStream } from '../support/engine/stored-stream.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, SESSION, newWorld } from '../support/engine/world.ts';
import { call, session } from '../support/session.ts';
import { outcome } from '../support/journal/outcomes.ts';

const COPY = brand<'SessionId'>('copy');

/** A session that owes an allowed call early on; more events than two writes of a copy take. */
const owingFrom = (id: SessionId): ReturnType<typeof session> =>
  Array.from({ length: 2 * EVENTS_PER_COMMIT_MAX + 40 }).reduce<ReturnType<typeof session>>(
    (now, _, index) => now.takes('SessionConfigured', { config: { turns_max: 100 + index } }),
    session({ session_id: id, consent: CONSENT_PRESETS.allow_all })
      .runRequested()
      .observed([call('c', 'free')]),
  );

const SOURCE = recordStream(owingFrom(SESSION), owingFrom(SESSION).events, [40]);
const RECORDS = recordsOf(recordStream(owingFrom(COPY), owingFrom(COPY).events, [40]));

async function* upTo(records: readonly StreamRecord[], count = records.length): AsyncGenerator<StreamRecord> {
  yield* records.slice(0, count);
  if (count < records.length) throw new SyntaxError('this line is no record');
}

const importing = (disk: Disk, count?: number) =>
  importStream({ ...disk.ports(), own_facts_at_ms: 5_000_000 }, upTo(RECORDS, count));

/** Whether the copy is there, to an engine that opens the stores and gives out no call and no turn of it. */
async function whatActs(disk: Disk): Promise<string> {
  disk.fault = () => null;
  const { engine, talk } = await newWorld(disk, newVirtualClock());
  const loaded = await outcome(engine.client.session(COPY));
  const effects = (await talk.lease(A)).effects.filter(({ session_id }) => session_id === COPY);
  const page = await must(engine.client.sessions());
  const head = page.sessions.find(({ session_id }) => session_id === COPY);
  await engine.close();
  expect(effects.filter(({ kind }) => kind !== 'batch.settle')).toEqual([]);
  expect(loaded).toBe(head === undefined ? 'unknown_session' : head.card.status === 'incomplete' ? 'damaged' : 'done');
  if (head?.card.status !== 'incomplete') return head === undefined ? 'nothing' : 'complete';
  expect([effects, head.owing, head.wake_at_ms]).toEqual([[], false, null]);
  return 'incomplete';
}

const FAULTS: readonly IoFault[] = ['full', 'unknown', 'lost_ack', 'dead_before', 'dead_after'];

/** Stops `copies` at each of its calls in each way; what each way leaves. */
async function stoppedEverywhere(
  prepare: (disk: Disk) => Promise<void>,
  copies: (disk: Disk) => Promise<unknown>,
): Promise<readonly string[]> {
  const undisturbed = newDisk();
  await prepare(undisturbed);
  const before = undisturbed.calls.length;
  await copies(undisturbed);
  const names = undisturbed.calls.slice(before);
  expect(names.filter((name) => name === 'append').length).toBeGreaterThan(1);
  expect(await whatActs(undisturbed)).toBe('complete');
  const seen: string[] = [];
  for (let k = 1; k <= names.length; k += 1) {
    for (const fault of FAULTS) {
      const disk = newDisk();
      await prepare(disk);
      const from = disk.calls.length;
      disk.fault = ({ nth }) => (nth === from + k ? fault : null);
      await Promise.race([copies(disk), disk.died()]);
      seen.push(await whatActs(disk));
    }
  }
  return seen;
}

describe('a copy that stops anywhere owes nothing:', () => {
  test('an import, at each call of the stores', { timeout: 60_000 }, async () => {
    const seen = await stoppedEverywhere(async () => undefined, importing);
    expect(new Set(seen)).toEqual(new Set(['nothing', 'incomplete', 'complete']));
  });

  test('a fork, at each call of the stores', { timeout: 60_000 }, async () => {
    const seen = await stoppedEverywhere(
      async (disk) => {
        await storeStream(disk.journal, SOURCE);
      },
      async (disk) => {
        // The fault may refuse the opening itself: then no fork begins.
        const world = await newWorld(disk, newVirtualClock()).catch(() => null);
        await world?.engine.client.fork(SESSION, { session_id: COPY })();
      },
    );
    expect(new Set(seen)).toEqual(new Set(['nothing', 'incomplete', 'complete']));
  });

  test('an import of a file with a line that is no record, wherever it is', async () => {
    const seen: string[] = [];
    for (let count = 1; count < RECORDS.length; count += 1) {
      const disk = newDisk();
      await expect(importing(disk, count)).rejects.toThrow(SyntaxError);
      seen.push(await whatActs(disk));
    }
    expect(new Set(seen)).toEqual(new Set(['nothing', 'incomplete']));
  });
});

describe('an incomplete copy', () => {
  async function cutOff(): Promise<Disk> {
    const disk = newDisk();
    await expect(importing(disk, RECORDS.length - 1)).rejects.toThrow(SyntaxError);
    return disk;
  }

  test('says what to do, takes no event, is not exported or forked, and can be deleted', async () => {
    const disk = await cutOff();
    const { engine } = await newWorld(disk, newVirtualClock());
    const { client } = engine;
    expect(await client.session(COPY)()).toMatchObject({
      left: { code: 'damaged', message: expect.stringMatching(/import its file again.*refold delete copy/) },
    });
    const event = { kind: 'HostSessionUpdated', host_session: { host_session_status: 'ready' } } as const;
    expect(await outcome(client.submit(COPY, { events: [event] }))).toBe('damaged');
    expect(await outcome(client.records(COPY))).toBe('damaged');
    expect(await outcome(client.fork(COPY, { session_id: SESSION }))).toBe('damaged');
    expect(await outcome(client.deleteSession(COPY))).toBe('done');
    expect((await must(client.sessions())).sessions).toEqual([]);
    await engine.close();
  });

  test('is completed by the whole file', async () => {
    const disk = await cutOff();
    const imported = await importing(disk);
    expect(isLeft(imported) ? imported.left : imported.right.continued).toBe(true);
    expect(await whatActs(disk)).toBe('complete');
  });
});
