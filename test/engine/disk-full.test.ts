// With a full disk the engine refuses new work and loses nothing that was acknowledged. Once there is space, it continues
// without a restart.
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import type { Digest, EventId } from '../../schemas/ids.ts';
import { SNAPSHOT_DELAY_MS, SNAPSHOT_EVERY_EVENTS } from '../../schemas/limits.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { replay, stateBytes } from '../../src/core/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { newVirtualClock, rest } from '../support/engine/virtual-clock.ts';
import { A, SESSION, Talk, durable, ingress, newWorld } from '../support/engine/world.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { mountSmallDisk } from '../support/journal/small-disk.ts';
import { eventsOf } from '../support/records.ts';

const RUN = { kind: 'RunRequested', input: { text: 'go' } } as const;
const PAUSE = { kind: 'RunPaused', run_id: 'run-1' } as const;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('an engine whose stores are full', () => {
  test('refuses new events, keeps recorded ones, and continues once there is space', async () => {
    const { talk, disk, engine } = await newWorld();
    await talk.create();
    await talk.submit([RUN]);
    const before = stateBytes(await talk.state());
    disk.fault = ({ name }) => (['put', 'append', 'create', 'snapshot put'].includes(name) ? 'full' : null);
    expect(await talk.outcome(PAUSE)).toBe('storage_full');
    expect(await outcome(engine.client.createSession({}))).toBe('storage_full');
    expect(await outcome(engine.client.putBlob(bytes('x')))).toBe('storage_full');
    const long = { call_id: 'c', tool_name: 'free', arguments: { text: 'x'.repeat(9_000) } };
    expect(await talk.outcome({ kind: 'ToolCallsObserved', run_id: 'run-1', turn: 1, calls: [long] })).toBe(
      'storage_full',
    );
    // Recorded events can be read, and their effects are owed.
    expect(stateBytes(await talk.state())).toEqual(before);
    expect(await talk.leased(A)).toEqual(['run-1/turn-1']);
    disk.fault = () => null;
    expect(await talk.outcome(PAUSE)).toBe('done');
    expect(await outcome(engine.client.putBlob(bytes('x')))).toBe('done');
    expect(stateBytes(await durable(disk))).toEqual(stateBytes(await talk.state()));
  });

  test('skips a snapshot, and writes it later', async () => {
    const { talk, disk, clock } = await newWorld();
    await talk.create();
    await talk.submit([RUN]);
    const grow = async (): Promise<void> => {
      for (let at = 0; at < SNAPSHOT_EVERY_EVENTS; at += 2) {
        await talk.submit([PAUSE, { kind: 'RunResumed', run_id: 'run-1' }]);
      }
      await clock.advance(SNAPSHOT_DELAY_MS);
    };
    disk.fault = ({ name }) => (name === 'snapshot put' ? 'full' : null);
    await grow();
    expect(await must(disk.journal.snapshots.versions(SESSION))).toEqual([]);
    disk.fault = () => null;
    await grow();
    expect(await must(disk.journal.snapshots.versions(SESSION))).toHaveLength(1);
  });
});

const DISK = '24m';
const RESERVE_BYTES = 8 * 1_048_576;
const BLOB_BYTES = 30_000;
const REFUSALS = 20;

interface Acked {
  readonly events: EventId[];
  readonly blobs: Map<Digest, Uint8Array>;
  readonly refusals: string[];
  readonly snapshots: Set<string>;
}

/** Writes blobs and events until the disk has refused often enough. */
async function fill(client: EngineClient, advance: () => Promise<void>): Promise<Acked> {
  const acked: Acked = { events: [], blobs: new Map(), refusals: [], snapshots: new Set() };
  for (let n = 0; acked.refusals.length < REFUSALS; n += 1) {
    const blob = randomBytes(BLOB_BYTES);
    const put = await client.putBlob(blob)();
    if (isLeft(put)) acked.refusals.push(put.left.code);
    else acked.blobs.set(put.right, blob);
    const text = randomBytes(1_500).toString('hex');
    const kinds = [
      { kind: 'RunRequested', input: { text } },
      { kind: 'RunCancelled', run_id: `run-${acked.events.length / 2 + 0.5}`, reason: 'no' },
    ] as const;
    const event = kinds[acked.events.length % 2] ?? kinds[0];
    const sent = await client.submit(SESSION, { events: [ingress({ event_id: `e-${n}`, ...event })] })();
    if (isLeft(sent)) acked.refusals.push(sent.left.code);
    else acked.events.push(`e-${n}` as EventId);
    await advance();
  }
  return acked;
}

async function readIds(client: EngineClient): Promise<readonly string[]> {
  const records = [...(await must(client.records(SESSION)))];
  for (;;) {
    const page = await must(client.records(SESSION, eventsOf(records).length));
    records.push(...page);
    if (page.length === 0) break;
  }
  expect(replay(records).divergence).toBeNull();
  return eventsOf(records).map(({ event_id }) => event_id);
}

describe('a data directory on a full disk', () => {
  test('loses no acknowledged event or blob, and accepts new ones once there is space', async (context) => {
    const disk = await mountSmallDisk(DISK);
    if ('reason' in disk) {
      process.stdout.write(`disk full: not run, ${disk.reason}\n`);
      context.skip(disk.reason);
      return;
    }
    try {
      const dataDir = join(disk.directory, 'data');
      const reserve = join(disk.directory, 'reserve');
      await writeFile(reserve, randomBytes(RESERVE_BYTES));
      const clock = newVirtualClock();
      const engine = await must(openEngine({ dataDir, clock }));
      const talk = await new Talk(engine.client).create();
      const acked = await fill(engine.client, () => clock.advance(SNAPSHOT_DELAY_MS));
      expect(acked.events.length).toBeGreaterThan(2 * SNAPSHOT_EVERY_EVENTS);
      expect(acked.refusals).toContain('storage_full');
      for (const code of acked.refusals)
        expect(['storage_full', 'storage_unknown', 'run_already_active']).toContain(code);

      await rm(reserve);
      // The same engine continues at once.
      const held = await readIds(engine.client);
      expect(held).toEqual(expect.arrayContaining(acked.events));
      expect(await outcome(engine.client.putBlob(bytes('after')))).toBe('done');
      expect(await outcome(engine.client.createSession({}))).toBe('done');
      const { state } = await must(engine.client.session(SESSION));
      const next =
        state.run === null ? RUN : ({ kind: 'RunCancelled', run_id: state.run.run_id, reason: 'no' } as const);
      expect(await talk.outcome({ ...next, event_id: 'after' })).toBe('done');
      await clock.advance(SNAPSHOT_DELAY_MS);
      await rest();
      await engine.close();

      const again = await must(openEngine({ dataDir, clock }));
      expect(again.faults).toEqual([]);
      expect(await readIds(again.client)).toEqual([...held, 'after']);
      for (const [ref, blob] of acked.blobs) {
        expect(Buffer.compare(await must(again.client.getBlob(ref)), blob)).toBe(0);
      }
      await again.close();
      const codes = [...new Set(acked.refusals)].join(', ');
      process.stdout.write(`disk full: ${acked.events.length} events, ${acked.blobs.size} blobs kept; then ${codes}\n`);
    } finally {
      await disk.unmount();
    }
  });
});
