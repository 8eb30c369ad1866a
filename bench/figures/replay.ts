// Verified replay of a long session from disk, compared with a scan, a parse and a fold of the same log, each in a separate
// process. The time of both includes opening the store.
import { join } from 'node:path';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { alternate } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type LongLog, writeLog } from '../long-log.ts';
import { must } from '../../src/client/must.ts';
import { REPLAY_PROCESS, runToEnd } from '../processes.ts';
import type { Replayed } from '../replay-process.ts';
import { type Row, atMost, ratioAtLeast, ratioAtMost, rowOf } from '../row.ts';
import { benchGenesis } from '../stream.ts';

const REACH_RATE = 0.8;
const REACH_MEMORY_MB = 300;
const REACH_RESUME_MS = 50;
const REACH_GROWTH = 1.2;

export const replay: Figure = { name: 'replay', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const sizes = bench.quick ? [200] : bench.full ? [10_000, 100_000, 1_000_000] : [10_000, 100_000];
  const rows: Row[] = [];
  const heaps: number[] = [];
  for (const events of sizes) {
    const directory = join(await bench.directory(), 'journal');
    const genesis = benchGenesis();
    const snapshot = await writeLog(bench, { directory, genesis, events });
    rows.push(...(await measureLog(bench, { directory, genesis, events })));
    await keepSnapshot(directory, snapshot);
    rows.push(...(await measureResume(bench, { directory, genesis, events })));
    bench.progress(`heap with a session of ${events} events`);
    heaps.push(await heapOf({ directory, genesis, events }));
  }
  return [...rows, heapRow(sizes, heaps)];
}

/** The heap of an engine with one session in memory. */
async function heapOf({ directory, genesis, events }: LongLog): Promise<number> {
  const { code, stdout } = await runToEnd(['--expose-gc', REPLAY_PROCESS, directory, genesis.session_id, 'served']);
  const replayed = code === 0 ? (JSON.parse(stdout) as Replayed) : null;
  if (replayed?.events !== events || replayed.heapMb === null) throw new Error(`the engine ended with ${code}`);
  return replayed.heapMb;
}

function heapRow(sizes: readonly number[], heaps: readonly number[]): Row {
  return rowOf({
    what: `heap of an engine with a session of ${sizes.at(-1)} events in memory`,
    unit: 'MB',
    values: heaps.slice(-1),
    limit: { what: `of ${sizes[0]} events`, values: heaps.slice(0, 1) },
    reach: ratioAtMost(REACH_GROWTH),
  });
}

async function measureLog(bench: Bench, log: LongLog): Promise<readonly Row[]> {
  const memory: number[] = [];
  const rate = async (how: 'verified' | 'bare'): Promise<number> => {
    const { code, stdout } = await runToEnd([REPLAY_PROCESS, log.directory, log.genesis.session_id, how]);
    if (code !== 0) throw new Error(`the replay ended with ${code}`);
    const { events, ms, memoryMb } = JSON.parse(stdout) as Replayed;
    if (events !== log.events) throw new Error(`${events} of ${log.events} events were replayed`);
    if (how === 'verified') memory.push(memoryMb);
    return (events * 1_000) / ms;
  };
  const contest = { verified: () => rate('verified'), bare: () => rate('bare') };
  const runs = sized(bench, 1, log.events > 100_000 ? 2 : 3);
  const doing = `replay of ${log.events} events`;
  const { verified, bare } = await alternate(runs, contest, (run) => bench.progress(`${doing}: run ${run}/${runs}`));
  return [
    rowOf({
      what: `verified ${doing} from disk`,
      unit: 'events/s',
      values: verified,
      limit: { what: 'scan, parse and fold', values: bare },
      reach: ratioAtLeast(REACH_RATE),
    }),
    rowOf({ what: `most memory in it`, unit: 'MB', values: memory, reach: atMost(REACH_MEMORY_MB) }),
  ];
}

async function keepSnapshot(directory: string, snapshot: Snapshot): Promise<void> {
  const journal = await must(openLevelJournal(directory));
  await must(journal.snapshots.put(snapshot));
  await journal.close();
}

/** Loads the same session from a snapshot that lies as far before its end as is allowed. */
async function measureResume(bench: Bench, { directory, genesis, events }: LongLog): Promise<readonly Row[]> {
  const runs = sized(bench, 1, 7);
  const resumed: number[] = [];
  for (let run = 1; run <= runs; run += 1) {
    bench.progress(`resume of ${events} events: run ${run}/${runs}`);
    const { code, stdout } = await runToEnd([REPLAY_PROCESS, directory, genesis.session_id, 'resumed']);
    if (code !== 0) throw new Error(`the resume ended with ${code}`);
    resumed.push((JSON.parse(stdout) as Replayed).ms);
  }
  return [
    rowOf({
      what: `resume of a session of ${events} events from a snapshot, the journal open`,
      unit: 'ms',
      values: resumed,
      reach: atMost(REACH_RESUME_MS),
    }),
  ];
}
