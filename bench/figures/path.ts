// The critical path of one turn: durable barriers, the time from the last result on disk to the grant of the next
// generate, and the stored bytes.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Level } from 'level';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type InProcess, bridgeTo } from '../in-process.ts';
import {
  BARRIERS_PER_BLOB,
  type Meter,
  meteredBlobs,
  meteredStore,
  newMeter,
  resetMeter,
  watchHandover,
} from '../meter.ts';
import { must } from '../../src/client/must.ts';
import type { Round } from '../round.ts';
import { type Row, atMost, ratioAtMost, rowOf } from '../row.ts';
import { percentile } from '../spread.ts';

const REACH_BARRIERS = 3;
const REACH_HANDOVER = { p50: 2, p99: 5 } as const;
const REACH_BYTES = 1.2;

export const path: Figure = { name: 'path', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const directory = await bench.directory();
  const meter = newMeter();
  const metered = await openMetered(directory, meter);
  const one = { sessions: 1, turns: sized(bench, 12, 200) };
  const hundred = { sessions: sized(bench, 4, 100), turns: sized(bench, 2, 20) };
  try {
    const alone = await roundsOf(bench, { metered, meter, round: one });
    const crowded = await roundsOf(bench, { metered, meter, round: hundred });
    bench.note(
      `path: a sealed page of the transcript is a blob and counts as ${BARRIERS_PER_BLOB} barriers; ` +
        `stored bytes are keys and values of the journal before LevelDB compresses them`,
    );
    return [
      rowOf({
        what: 'durable writes of the journal on the path of one turn',
        unit: '',
        values: alone.map(({ journal }) => journal),
      }),
      rowOf({
        what: 'barriers on the path of one turn, blobs included',
        unit: '',
        values: alone.map(({ barriers }) => barriers),
        reach: atMost(REACH_BARRIERS),
      }),
      handoverRow('p50', 1, alone),
      handoverRow('p99', 1, alone),
      handoverRow('p50', hundred.sessions, crowded),
      handoverRow('p99', hundred.sessions, crowded),
      bytesRow('journal alone', alone, ({ journalBytes }) => journalBytes),
      bytesRow('journal and sealed pages', alone, ({ journalBytes, blobBytes }) => journalBytes + blobBytes),
      ...(await diskRows(bench, one)),
    ];
  } finally {
    await metered.close();
  }
}

async function openMetered(directory: string, meter: Meter): Promise<InProcess> {
  const journal = await must(openStoredJournal(meteredStore(() => openLevelStore(join(directory, 'journal')), meter)));
  const blobs = await must(openFileBlobs(join(directory, 'blobs')));
  const handover = watchHandover(meter);
  const ports = { journal: handover.journal(journal), blobs: meteredBlobs(blobs, meter) };
  return bridgeTo(await must(startEngine(ports)), handover.client);
}

interface Compacting {
  compactRange(from: string, to: string): Promise<void>;
}

/** The size on disk after LevelDB has compacted: shared key prefixes and compressed blocks. */
async function diskRows(bench: Bench, { sessions, turns }: Round): Promise<readonly Row[]> {
  const directory = await bench.directory();
  const meter = newMeter();
  const metered = await openMetered(directory, meter);
  await metered.run({ sessions, turns });
  await metered.close();
  const journal = join(directory, 'journal');
  const database = new Level(journal);
  await database.open();
  // A method of LevelDB that the general interface does not have.
  await (database as Level & Compacting).compactRange('\u0000', '\u00ff');
  await database.close();
  let bytes = 0;
  for (const name of await readdir(journal)) {
    if (name.endsWith('.ldb')) bytes += (await stat(join(journal, name))).size;
  }
  const onDisk = (what: string, stored: number): Row =>
    rowOf({
      what: `bytes stored per turn, ${what} on disk after compaction, the genesis included`,
      unit: 'B',
      values: [stored / turns],
      limit: { what: 'canonical bytes of its events', values: [meter.eventBytes / turns] },
      reach: ratioAtMost(REACH_BYTES),
    });
  return [onDisk('journal', bytes), onDisk('journal and sealed pages', bytes + meter.blobBytes)];
}

interface Measured {
  readonly journal: number;
  readonly barriers: number;
  readonly barrierMs: number;
  readonly handover: { readonly p50: number; readonly p99: number };
  readonly journalBytes: number;
  readonly blobBytes: number;
  readonly eventBytes: number;
}

interface Rounds {
  readonly metered: InProcess;
  readonly meter: Meter;
  readonly round: Round;
}

async function roundsOf(bench: Bench, { metered, meter, round }: Rounds): Promise<readonly Measured[]> {
  await metered.run(round);
  const measured: Measured[] = [];
  const runs = sized(bench, 1, 5);
  for (let run = 1; run <= runs; run += 1) {
    bench.progress(`path, ${round.sessions} sessions: run ${run}/${runs}`);
    resetMeter(meter);
    await metered.run(round);
    measured.push(read(meter, round));
  }
  return measured;
}

function read({ writes, handovers, journalBytes, blobBytes, eventBytes, blobs }: Meter, round: Round): Measured {
  const turns = round.sessions * round.turns;
  return {
    journal: writes.length / turns,
    barriers: (writes.length + BARRIERS_PER_BLOB * blobs) / turns,
    barrierMs: percentile(writes, 0.5),
    handover: { p50: percentile(handovers, 0.5), p99: percentile(handovers, 0.99) },
    journalBytes: journalBytes / turns,
    blobBytes: blobBytes / turns,
    eventBytes: eventBytes / turns,
  };
}

function handoverRow(which: 'p50' | 'p99', sessions: number, measured: readonly Measured[]): Row {
  // Only the row of one session has a target.
  const reach = sessions === 1 ? { reach: ratioAtMost(REACH_HANDOVER[which]) } : {};
  return rowOf({
    what: `last result durable to next generate handed out, ${which}, ${sessions === 1 ? '1 session' : `${sessions} sessions`}`,
    unit: 'ms',
    values: measured.map(({ handover }) => handover[which]),
    limit: { what: 'one barrier, p50', values: measured.map(({ barrierMs }) => barrierMs) },
    ...reach,
  });
}

const bytesRow = (what: string, measured: readonly Measured[], of: (one: Measured) => number): Row =>
  rowOf({
    what: `bytes stored per turn, ${what}`,
    unit: 'B',
    values: measured.map(of),
    limit: { what: 'canonical bytes of its events', values: measured.map(({ eventBytes }) => eventBytes) },
    reach: ratioAtMost(REACH_BYTES),
  });
