// The same ingress through an engine on LevelDB and one on PostgreSQL leaves the same bytes: entries, digests, snapshots, blobs.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { must } from '../../src/client/must.ts';
import { startEngine } from '../../src/engine/engine.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, Talk, callsIn, ingress, settled, started } from '../support/engine/world.ts';
import { readAll, session, tombstoneOf } from '../support/journal/samples.ts';
import {
  type Database,
  type Server,
  createDatabase,
  describePostgres,
  openServer,
} from '../support/postgres/database.ts';
import { openStores } from '../support/postgres/stores.ts';
import { testPackage } from '../support/tools.ts';

interface Stores {
  readonly journal: Journal;
  readonly blobs: Blobs;
}

const RUNS = 12;
const [LONG, ASLEEP, GONE] = [session('long'), session('asleep'), session('gone')];

/** Opens an engine twice over the stores that `open` opens, and drives the same sessions through it. */
async function drive(open: () => Promise<Stores>): Promise<Stores> {
  const clock = newVirtualClock();
  let ids = 0;
  for (const half of [0, 1]) {
    const engine = await must(
      startEngine({
        ...(await open()),
        clock,
        newId: () => `id-${(ids += 1)}`,
        random: () => 0.5,
        snapshotEveryEvents: 10,
      }),
    );
    for (const id of [LONG, ASLEEP, GONE])
      await driveSession(new Talk(engine.client, id), half, (ms) => clock.advance(ms));
    await engine.close();
  }
  const stores = await open();
  const { version, chain } = { version: (await must(stores.journal.head(GONE))).version, chain: null };
  await must(stores.journal.delete({ ...tombstoneOf(GONE, version), chain }));
  return stores;
}

async function driveSession(talk: Talk, half: number, advance: (ms: number) => Promise<void>): Promise<void> {
  if (half === 0) await talk.create(testPackage(), CONSENT_PRESETS.allow_all);
  let nth = 0;
  const submit = async (...events: Parameters<Talk['submit']>[0]): Promise<void> => {
    const named = events.map((event) => ingress({ event_id: `${talk.id}-${half}-${(nth += 1)}`, ...event }));
    await must(talk.client.submit(talk.id, { events: named, owner: A }));
  };
  for (let run = 0; run < RUNS; run += 1) {
    const run_id = `run-${half * RUNS + run + 1}`;
    const text = `ä "quoted" \\ \u0000 €𝄞 ${run} ${'long '.repeat(run * 60)}`;
    await submit({ kind: 'RunRequested', input: { text } });
    await talk.lease(A);
    const calls = [
      { call_id: 'a', tool_name: 'once', arguments_text: '{"n":1}' },
      { call_id: 'b', tool_name: 'none', arguments_text: 'no json' },
    ];
    await submit({ kind: 'ToolCallsObserved', run_id, turn: 1, calls, content: { text: 'x'.repeat(3_000) } });
    const [call] = callsIn(await talk.lease(A));
    if (call !== undefined) await submit(started(call, A), settled(call));
    await advance(1_000);
    const state = await talk.state();
    const batch = state.active_tool_batch;
    if (batch !== undefined && batch !== null) {
      await submit({ kind: 'ToolBatchSettled', batch_id: batch.batch_id, plan_hash: batch.plan.plan_hash });
    }
    await talk.lease(A);
    await submit({ kind: 'ToolCallsObserved', run_id, turn: 2, calls: [], content: { text: 'done' } });
  }
  if (half === 1 && talk.id === ASLEEP) await submit({ kind: 'RunRequested', input: { text: 'still owing' } });
}

/** All that is stored: each entry of a backup, the snapshots, and the blobs. */
async function contents({ journal, blobs }: Stores): Promise<Readonly<Record<string, unknown>>> {
  const entries: string[] = [];
  for await (const page of journal.entries() ?? []) {
    for (const { key, value } of page) {
      entries.push(`${Buffer.from(key).toString('latin1')} ${Buffer.from(value).toString('hex')}`);
    }
  }
  const snapshots: unknown[] = [];
  for (const id of [LONG, ASLEEP, GONE]) {
    for (const version of await must(journal.snapshots.versions(id))) {
      snapshots.push(await must(journal.snapshots.get(id, version)));
    }
  }
  const refs: string[] = [];
  for await (const ref of blobs.list()) refs.push(`${ref} ${Buffer.from(await must(blobs.get(ref))).toString('hex')}`);
  return { entries: entries.sort(), snapshots, refs, pages: await must(journal.pages(null, 1_000)) };
}

async function close({ journal, blobs }: Stores): Promise<void> {
  await journal.close();
  await blobs.close();
}

describePostgres('the journal in PostgreSQL', () => {
  let server: Server;
  let database: Database;
  let directory: string;
  beforeAll(async () => {
    server = await openServer();
    database = await createDatabase(server);
    directory = await mkdtemp(join(tmpdir(), 'refold-same-bytes-'));
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await server.stop();
    await rm(directory, { recursive: true });
  });

  test('keeps the bytes of the journal on LevelDB', async () => {
    const level = await drive(async () => ({
      journal: await must(openLevelJournal(join(directory, 'journal'))),
      blobs: await must(openFileBlobs(join(directory, 'blobs'))),
    }));
    const postgres = await drive(() => openStores(database.url));
    const [expected, found] = [await contents(level), await contents(postgres)];
    expect(found).toEqual(expected);
    const commits = await readAll(postgres.journal, LONG);
    expect(commits.length).toBeGreaterThan(4 * RUNS);
    expect((found['snapshots'] as unknown[]).length).toBeGreaterThan(2);
    expect((found['pages'] as unknown[]).length).toBeGreaterThan(0);
    expect(commits).toEqual(await readAll(level.journal, LONG));
    await close(level);
    await close(postgres);
  }, 120_000);
});
