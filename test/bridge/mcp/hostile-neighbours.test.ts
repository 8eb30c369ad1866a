// What hostile servers cost their bridge and a healthy server beside them, measured in a process of its own. `npm test` looks at the
// memory for one; `npm run soak -- mcp-hostile` at all, and at the time of calls of the healthy server, which nothing else on the
// machine may disturb.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { roundsOf } from '../../support/random.ts';

const PROGRAM = fileURLToPath(new URL('../../support/mcp/neighbours.mjs', import.meta.url));
const MEMORY_MIB_MAX = 64;
/** How much longer a call of the healthy server may take, at its p95. */
const RATIO_MAX = 2;
/** What else runs only adds time, so the least of a few measurements counts. */
const TRIES = 3;

/** The first is the sample. */
const TRICKS = [
  'many_blocks:100000',
  'progress_flood',
  'huge_result',
  'junk_flood',
  'unknown_notes',
  'stderr_flood',
  'change_flood',
  'large_result:6000000',
  'slow_pattern',
  'many:10000',
  'big_tools',
  'huge_page',
  'wide_schema',
  'deep_schema',
  'long_schema',
  'long_definition',
  'endless_cursors',
  'same_cursor',
  'long_cursor',
  'tools_no_list',
  'list_refused',
  'list_silence',
  'start_silence',
  'start_exit',
  'start_refused',
  'old_version',
  'bad_initialize',
  'endless_line',
  'exits_at_probe',
  'dies',
  'error',
  'refuses',
  'silence',
  'other_id',
  'text_id',
  'null_id',
  'twice',
  'junk',
  'batch',
  'both',
  'proto',
  'proto_structured',
  'raw_meta',
  'samples',
  'roots',
  'elicits',
  'asks_sampling',
  'asks_again:1000',
  'unknown_result',
  'task_without_id',
  'task_long_id',
  'task_unknown',
  'task_endless',
];
const SAMPLE = 1;
const COUNT = roundsOf(SAMPLE, TRICKS.length);
const IS_SAMPLE = COUNT === SAMPLE;
const CALLS = IS_SAMPLE ? 50 : 300;

interface Measured {
  readonly trick: string;
  readonly quietMs: number;
  readonly ragingMs: number;
  readonly highestMib: number;
}

async function measure(tricks: readonly string[]): Promise<readonly Measured[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, String(CALLS), ...tricks]);
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Measured);
}

const ratioOf = ({ quietMs, ragingMs }: Measured): number => ragingMs / quietMs;

test(`${COUNT} hostile servers: the bridge needs less than ${MEMORY_MIB_MAX} MiB for all of them`, async () => {
  const measured = await measure(TRICKS.slice(0, COUNT));
  expect(measured).toHaveLength(COUNT);
  const highestMib = measured.at(-1)?.highestMib ?? Number.NaN;
  expect(highestMib).toBeLessThan(MEMORY_MIB_MAX);
  if (IS_SAMPLE) return;
  const slowed: string[] = [];
  let highest = 0;
  for (const one of measured) {
    let ratio = ratioOf(one);
    for (let tries = 1; tries < TRIES && ratio > RATIO_MAX; tries += 1) {
      const [again] = await measure(TRICKS.filter((trick) => trick.split(':')[0] === one.trick));
      if (again !== undefined) ratio = Math.min(ratio, ratioOf(again));
    }
    highest = Math.max(highest, ratio);
    if (ratio > RATIO_MAX) slowed.push(`${one.trick}: ${ratio.toFixed(1)}`);
  }
  process.stdout.write(
    `hostile servers: ${COUNT}, +${highestMib.toFixed(0)} MiB, p95 of a healthy one at most ×${highest.toFixed(1)}\n`,
  );
  expect(slowed).toEqual([]);
});
