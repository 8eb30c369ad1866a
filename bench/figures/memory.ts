// The memory of an engine with many open sessions, and whether one session needs more memory as it grows.
import { type Bench, type Figure, sized } from '../figure.ts';
import type { MemoryLine, MemoryUsed } from '../memory-process.ts';
import { MEMORY_PROCESS, runToEnd } from '../processes.ts';
import { type Row, ratioAtMost, rowOf } from '../row.ts';

const REACH_GROWTH = 1.2;

export const memory: Figure = { name: 'memory', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const sessions = sized(bench, 20, 10_000);
  const events = bench.quick ? 100 : bench.full ? 1_000_000 : 100_000;
  const many = await memoryOf(bench, 'sessions', sessions);
  const one = await memoryOf(bench, 'events', events);
  return [
    rowOf({
      what: `heap with ${sessions} sessions in memory, each waiting for its model`,
      unit: 'MB',
      values: [many.late],
    }),
    rowOf({
      what: 'heap of each further session',
      unit: 'kB',
      values: [((many.late - many.early) * 1_000) / (sessions * 0.9)],
    }),
    rowOf({ what: `most memory of the process with ${sessions} sessions in memory`, unit: 'MB', values: [many.peak] }),
    rowOf({
      what: `heap of the fold of one session after ${events} events`,
      unit: 'MB',
      values: [one.late],
      limit: { what: 'after a tenth of them', values: [one.early] },
      reach: ratioAtMost(REACH_GROWTH),
    }),
  ];
}

/** The memory that a process of its own needs for this. */
export async function memoryOf(
  bench: Bench,
  what: 'sessions' | 'waiting' | 'events',
  count: number,
): Promise<MemoryUsed> {
  const argv = ['--expose-gc', MEMORY_PROCESS, await bench.directory(), what, String(count)];
  const report = (reached: number): void => bench.progress(`memory: ${reached} of ${count} ${what}`);
  report(0);
  const used: MemoryUsed[] = [];
  const { code } = await runToEnd(argv, (text) => {
    const line = JSON.parse(text) as MemoryLine;
    if (line.event === 'reached') report(line.count);
    else used.push(line);
  });
  const [answer] = used;
  if (code !== 0 || answer === undefined) throw new Error(`the process ended with ${code}`);
  return answer;
}
