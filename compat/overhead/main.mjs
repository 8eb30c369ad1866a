// What it costs to make a loop durable: the time of a turn of two calls, from one ask of the model to the next, with a model and
// tools that return at once. `npm run compat -- overhead`. DBOS needs a server: REFOLD_POSTGRES=postgresql://USER@HOST:PORT/NAME.
//
// Each row is a process of its own in every round, on an empty folder; as many runs as are measured warm it up. Rounds are
// interleaved. Of a round the median of its turns counts, and of a row its best round, which other load disturbs least.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ROWS } from './rows.mjs';

const RUNS = Number(process.env.REFOLD_OVERHEAD_RUNS ?? 60);
const ROUNDS = Number(process.env.REFOLD_OVERHEAD_ROUNDS ?? 5);
/** Milliseconds of a turn beside its barriers. */
const AIM_MS = 2.5;

const shown = (value) => (value === null ? '' : value.toFixed(2));

const names = Object.keys(ROWS).filter((name) => {
  const { needs } = ROWS[name];
  if (needs === undefined || process.env[needs] !== undefined) return true;
  console.log(`${name} is left out: ${needs} is not set`);
  return false;
});
const rounds = Object.fromEntries(names.map((name) => [name, []]));
for (let round = 0; round < ROUNDS; round += 1) {
  for (let index = 0; index < names.length; index += 1) measure(names[(index + round) % names.length]);
}

function measure(name) {
  const folder = mkdtempSync(join(tmpdir(), 'refold-overhead-'));
  try {
    const program = fileURLToPath(new URL('row.mjs', import.meta.url));
    const printed = execFileSync(process.execPath, [program, name, folder, String(RUNS)], { encoding: 'utf8' });
    rounds[name].push(JSON.parse(printed.slice(printed.lastIndexOf('{"ms"'))));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const of = (name, field) => Math.min(...rounds[name].map((round) => round[field]));
const barrierMs = Math.min(...names.map((name) => of(name, 'barrierMs')));
console.log(`one barrier ${shown(barrierMs)} ms; load ${loadavg()[0].toFixed(1)}; ${ROUNDS} rounds of ${RUNS} runs\n`);
console.log('| row | p50 ms a turn | over its loop | barriers | without them | CPU ms | over its loop |');
console.log('|---|---|---|---|---|---|---|');
for (const name of names) {
  const { over } = ROWS[name];
  const added = over === undefined ? null : of(name, 'ms') - of(over, 'ms');
  const cpu = over === undefined ? null : of(name, 'cpuMs') - of(over, 'cpuMs');
  const isOurs = name.startsWith('refold');
  const barriers = isOurs ? of(name, 'barriers') : null;
  const rest = isOurs ? added - barriers * barrierMs : null;
  const aim = isOurs ? ` (aim ${AIM_MS})` : '';
  const cells = [of(name, 'ms'), added, barriers, rest, of(name, 'cpuMs'), cpu].map(shown);
  console.log(`| ${name} | ${cells.slice(0, 3).join(' | ')} | ${cells[3]}${aim} | ${cells.slice(4).join(' | ')} |`);
}
