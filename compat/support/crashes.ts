// Runs a program in processes of its own, kills it, and starts it again until it ends.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { COMPAT } from './consumer.ts';

/** Where a kill hits: a place that the program names, or some milliseconds after it began. */
export type Kill = { readonly at: string } | { readonly afterMs: number };

export interface Outcome {
  /** What was done to the world, in order. */
  readonly world: readonly string[];
  /** What the last process printed. */
  readonly printed: string;
  readonly places: readonly string[];
  readonly starts: number;
  readonly dataDir: string;
}

const STARTS_MAX = 8;

/**
 * `program` is a module under `compat/` that is given a folder and a place. It appends a line to `world` for each effect, and
 * one to `places` for each place that it passes, where it kills itself when it is the given one.
 */
export async function runKilled(
  program: string,
  kill: Kill | null,
  check: (outcome: Outcome) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'refold-killed-'));
  await Promise.all(['world', 'places'].map((name) => writeFile(join(folder, name), '')));
  let printed = '';
  let starts = 0;
  for (let killed: Kill | null = kill; ; killed = null) {
    starts += 1;
    if (starts > STARTS_MAX) throw new Error(`${program} did not end in ${STARTS_MAX} starts`);
    const ended = await start(program, folder, killed);
    if (ended.signal === null && ended.code !== 0) throw new Error(`${program} failed: ${ended.printed}`);
    printed = ended.printed;
    if (ended.signal === null) break;
  }
  const linesOf = async (name: string) =>
    (await readFile(join(folder, name), 'utf8')).split('\n').filter((line) => line !== '');
  const [world, places] = await Promise.all([linesOf('world'), linesOf('places')]);
  await check({ world, places, printed, starts, dataDir: join(folder, 'data') });
  await rm(folder, { recursive: true });
}

async function start(program: string, folder: string, kill: Kill | null) {
  const place = kill !== null && 'at' in kill ? kill.at : '';
  const child = spawn(process.execPath, [join(COMPAT, program), folder, place], {
    cwd: COMPAT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  const timer = kill !== null && 'afterMs' in kill ? setTimeout(() => child.kill('SIGKILL'), kill.afterMs) : undefined;
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  return { code, signal, printed };
}
