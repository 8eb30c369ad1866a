// Measures one row in a process of its own: node row.mjs NAME FOLDER RUNS
import { barrierTimes, countBarriers } from './barriers.mjs';
import { ROWS } from './rows.mjs';
import { newGaps } from './workload.mjs';

const [name, folder, runs] = process.argv.slice(2);
const world = newGaps(await countBarriers(folder));
const { gaps } = world;
const { run, close } = await ROWS[name].open({ folder, asked: (turn) => world.asked(turn) });
for (let index = 0; index < Number(runs); index += 1) await run();
gaps.length = 0;
for (let index = 0; index < Number(runs); index += 1) await run();
await close();
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const of = (field) => median(gaps.map((gap) => gap[field]));
const measured = { ms: of('ms'), cpuMs: of('cpuMs'), barriers: of('barriers') };
process.stdout.write(JSON.stringify({ ...measured, barrierMs: median(await barrierTimes(folder)) }));
process.exit(0);
