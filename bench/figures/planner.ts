// How fast batches are planned, and whether a call costs the same in batches of all sizes. The calls are as the edge passes
// them on (arguments digested and checked). Two thirds read and one third writes, over half as many files as calls, so most
// calls conflict with another one. The limit is the minimal cost of a plan: its text and its hash.
import { planBatch } from '../../reducers/planner.ts';
import { digestJson, digestText } from '../../schemas/canonical.ts';
import { brand } from '../../schemas/ids.ts';
import type { ToolCallObserved } from '../../schemas/tool-call.ts';
import { initialState } from '../../src/core/index.ts';
import { alternate, rateOf } from '../alternate.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { type Random, seeded } from '../random.ts';
import { type Row, atLeast, atMost, rowOf } from '../row.ts';
import { benchGenesis } from '../stream.ts';
import { benchPackage } from '../tools.ts';

const SIZES = [10, 100, 1_000, 10_000] as const;
type Size = (typeof SIZES)[number];

const REACH_CALLS_PER_SECOND = 150_000;
const REACH_GROWTH = 2;

export const planner: Figure = { name: 'planner', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  const tools = initialState(benchGenesis(), benchPackage()).effective_tools;
  const runs = sized(bench, 1, 7);
  const rows: Row[] = [];
  const usPerCall = new Map<Size, readonly number[]>();
  for (const size of bench.quick ? SIZES.slice(0, 3) : SIZES) {
    const calls = batchOf(size, seeded(size));
    const plan = planBatch(tools, calls);
    const { plan_hash: _own, ...hashed } = plan;
    if (plan.planned_calls.length !== size) throw new Error('the planner refused calls of the measured batch');
    const atLeastMs = sized(bench, 1, 200);
    const contest = {
      planned: () => size * rateOf(() => planBatch(tools, calls), atLeastMs),
      hashed: () => size * rateOf(() => digestText(JSON.stringify(hashed)), atLeastMs),
    };
    contest.planned();
    const { planned, hashed: bare } = await alternate(runs, contest, (run) =>
      bench.progress(`planner, ${size} calls: run ${run}/${runs}`),
    );
    usPerCall.set(
      size,
      planned.map((rate) => 1_000_000 / rate),
    );
    rows.push(
      rowOf({
        what: `plan a batch of ${size} calls`,
        unit: 'calls/s',
        values: planned,
        limit: { what: 'text and hash of the plan', values: bare },
        reach: atLeast(REACH_CALLS_PER_SECOND),
      }),
    );
  }
  return [...rows, growthOf(usPerCall)];
}

/** The time per call of the slowest size divided by that of the fastest, run by run. */
function growthOf(usPerCall: ReadonlyMap<Size, readonly number[]>): Row {
  const all = [...usPerCall.values()];
  const growth = (all[0] ?? []).map((_, run) => {
    const times = all.map((values) => values[run] ?? NaN);
    return Math.max(...times) / Math.min(...times);
  });
  return rowOf({
    what: 'time per call, slowest size by fastest',
    unit: '×',
    values: growth,
    reach: atMost(REACH_GROWTH),
  });
}

function batchOf(size: number, random: Random): readonly ToolCallObserved[] {
  return Array.from({ length: size }, (_, index) => {
    const file = Math.floor((random() * size) / 2);
    const args = { path: `src/module-${file % 37}/file-${file}.ts` };
    return {
      call_id: brand<'CallId'>(`call-${index}`),
      tool_name: random() < 2 / 3 ? 'noop' : 'once',
      arguments: args,
      arguments_digest: digestJson(args),
      arguments_verdict: { valid: true },
    };
  });
}
