// Opening with few and with many sessions at rest, of which equally many have work; what a session at rest takes on disk;
// and the heap of a session that only waits.
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalText } from '../../schemas/canonical.ts';
import { brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { initialState } from '../../src/core/initial-state.ts';
import { partsOf } from '../../src/core/package-parts.ts';
import { headFacts } from '../../src/core/session-head.ts';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { openEngine, startEngine } from '../../src/engine/engine.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { benchPackage } from '../tools.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type Row, atMost, ratioAtMost, rowOf } from '../row.ts';
import { UNBOUNDED, benchGenesis } from '../stream.ts';
import { memoryOf } from './memory.ts';

const REACH_OPENING = 1.5;
const REACH_BYTES = 600;
const REACH_HEAP_KB = 1;
const CREATED_TOGETHER = 2_000;

export const atRest: Figure = { name: 'at-rest', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const owing = sized(bench, 4, 100);
  const [few, many] = [sized(bench, 20, 1_000), sized(bench, 40, 1_000_000)];
  const small = await fill(bench, { atRest: few, owing });
  const large = await fill(bench, { atRest: many, owing });
  const runs = sized(bench, 1, 5);
  const verified = { few: [] as number[], many: [] as number[] };
  const contest = { few: () => startMs(small, verified.few), many: () => startMs(large, verified.many) };
  const started = await alternate(runs, contest, (run) => bench.progress(`at-rest: run ${run}/${runs}`));
  const both = (name: 'few' | 'many'): readonly number[] =>
    started[name].map((ms, run) => ms + (verified[name][run] ?? NaN));
  const waiting = sized(bench, 50, 20_000);
  const used = await memoryOf(bench, 'waiting', waiting);
  const what = (count: number): string => `${count} sessions at rest, ${owing} with work`;
  return [
    rowOf({
      what: `opening an engine: ${what(many)}`,
      unit: 'ms',
      values: both('many'),
      limit: { what: what(few), values: both('few') },
      reach: ratioAtMost(REACH_OPENING),
    }),
    rowOf({
      what: `of which the journal, with the checksums of all its files: ${what(many)}`,
      unit: 'ms',
      values: verified.many,
      limit: { what: what(few), values: verified.few },
    }),
    rowOf({
      what: `of which the engine, which loads the sessions with work: ${what(many)}`,
      unit: 'ms',
      values: started.many,
      limit: { what: what(few), values: started.few },
      reach: ratioAtMost(REACH_OPENING),
    }),
    rowOf({
      what: 'a session at rest without events, on disk',
      unit: 'bytes',
      values: [((await bytesOf(large)) - (await bytesOf(small))) / (many - few)],
      reach: atMost(REACH_BYTES),
    }),
    rowOf({
      what: 'heap of each further session that only waits',
      unit: 'kB',
      values: [((used.late - used.early) * 1_000) / (waiting * 0.9)],
      reach: atMost(REACH_HEAP_KB),
    }),
  ];
}

interface Filling {
  readonly atRest: number;
  readonly owing: number;
}

/** A data directory with these sessions, closed. */
async function fill(bench: Bench, { atRest: count, owing }: Filling): Promise<string> {
  const dataDir = await bench.directory();
  const engine = await must(openEngine({ dataDir }));
  for (let index = 0; index < owing; index += 1) {
    const { session_id } = await must(engine.client.createSession({ config: UNBOUNDED, tool_package: benchPackage() }));
    await must(engine.client.submit(session_id, { events: [{ kind: 'RunRequested', input: { text: 'go on' } }] }));
  }
  await engine.close();
  const journal = await must(openLevelJournal(join(dataDir, 'journal')));
  const tool_package = benchPackage();
  const genesis = benchGenesis('NAME');
  const text = canonicalText(genesis);
  const head = headFacts(initialState(genesis, tool_package));
  const parts = partsOf(tool_package);
  for (let from = 0; from < count; from += CREATED_TOGETHER) {
    bench.progress(`at-rest: ${from} of ${count} sessions`);
    const creating = Array.from({ length: Math.min(CREATED_TOGETHER, count - from) }, (_, index) => {
      const id = `s-${(from + index).toString(36).padStart(8, '0')}-${((from + index) * 2_654_435_761) % 4_294_967_296}`;
      return must(
        journal.create(brand(id), text.replace('NAME', id), { digest: parts.digest, text: parts.text }, head),
      );
    });
    await Promise.all(creating);
  }
  await journal.close();
  // Its log becomes a table, as in any journal that was opened again.
  await (await must(openLevelJournal(join(dataDir, 'journal')))).close();
  return dataDir;
}

/** The time to start an engine on its journal; adds the time to open the journal, which verifies every file, to `verified`. */
async function startMs(dataDir: string, verified: number[]): Promise<number> {
  const openedAt = performance.now();
  const journal = await must(openLevelJournal(join(dataDir, 'journal')));
  const startedAt = performance.now();
  verified.push(startedAt - openedAt);
  const engine = await must(startEngine({ journal, blobs: await must(openFileBlobs(join(dataDir, 'blobs'))) }));
  const ms = performance.now() - startedAt;
  await engine.close();
  return ms;
}

async function bytesOf(dataDir: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(join(dataDir, 'journal'))) {
    if (name.endsWith('.ldb')) bytes += (await stat(join(dataDir, 'journal', name))).size;
  }
  return bytes;
}
