// The wall time of whole batches at the bridge, compared with their critical path: the longest chain of calls that must
// follow one another, with the measured duration of each. Also the speed-up over running one call at a time, and over groups
// that wait for their slowest call. Real time, a real engine, tools that only sleep; one value for each batch.
import { join } from 'node:path';
import { type BatchRun, runBatches } from '../batch-runs.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { PACKAGE_ROOT } from '../processes.ts';
import { type Row, ratioAtMost, rowOf } from '../row.ts';
import { type TimedBatch, generateBatches, readRecordedBatches } from '../timed-batches.ts';

const REACH = 1.05;
const RECORDING = join(PACKAGE_ROOT, '../shared/corpora/unified/batches.jsonl');

export const batches: Figure = { name: 'batches', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const generated = generateBatches(sized(bench, 4, 200), 7);
  const rows = [...(await rowsOf(bench, 'generated', generated))];
  const recorded = await readRecordedBatches(RECORDING, 11);
  if (recorded === null) bench.note(`batches: ${RECORDING} does not exist; recorded batches were not measured`);
  else rows.push(...(await rowsOf(bench, 'recorded', recorded.slice(0, sized(bench, 4, recorded.length)))));
  return rows;
}

async function rowsOf(bench: Bench, kind: string, timed: readonly TimedBatch[]): Promise<readonly Row[]> {
  bench.progress(`batches: ${timed.length} ${kind}`);
  const runs = await runBatches(await bench.directory(), timed);
  const each = (of: (run: BatchRun) => number): readonly number[] => runs.map(of);
  return [
    rowOf({
      what: `wall time of ${runs.length} ${kind} batches`,
      unit: 'ms',
      values: each(({ wall }) => wall),
      limit: { what: 'critical path', values: each(({ criticalPath }) => criticalPath) },
      reach: ratioAtMost(REACH),
    }),
    rowOf({
      what: `speed-up of ${kind} batches over one call at a time`,
      unit: '×',
      values: each(({ oneByOne, wall }) => oneByOne / wall),
    }),
    rowOf({
      what: `speed-up of ${kind} batches over group barriers`,
      unit: '×',
      values: each(({ groupBarriers, wall }) => groupBarriers / wall),
    }),
  ];
}
