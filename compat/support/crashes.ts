// Runs a program in processes that are killed, one after the other: each goes on with the sessions that were cut off, and begins
// one more, in which it is killed itself. So each kill costs one process.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { COMPAT } from './consumer.ts';

/** Where a kill hits: a place of the newest session, or some milliseconds after it began. */
export type Kill = { readonly place: string } | { readonly afterMs: number };

/** What has become of a session. */
export interface Outcome {
  readonly session: string;
  /** What was done to the world, in order. */
  readonly world: readonly string[];
  /** What its loop was told. */
  readonly told: string;
  readonly places: readonly string[];
  /** How many processes were killed while they ran it. */
  readonly kills: number;
}

export interface Killing {
  readonly dataDir: string;
  /** Begins a session in a process of its own that ends with this kill, or by itself. Returns whether it was killed. */
  readonly begin: (kill: Kill | null) => Promise<boolean>;
  /** Runs what was cut off to its end, and gives every session. */
  readonly finish: () => Promise<readonly Outcome[]>;
  /** How long the newest session took that was not killed. */
  readonly sessionMs: () => number;
  readonly close: () => Promise<void>;
}

/** `program` is a module under `compat/` that calls `runSessions` of `killed-world.mjs`. */
export async function openKilling(program: string): Promise<Killing> {
  const bundle = await bundled(program);
  const folder = await mkdtemp(join(tmpdir(), 'refold-killed-'));
  await Promise.all(['world', 'places'].map((name) => writeFile(join(folder, name), '')));
  const told = new Map<string, string>();
  const kills = new Map<string, number>();
  let sessionMs = 0;

  async function run(kill: Kill | null): Promise<boolean> {
    const sessions = [...kills.keys()].filter((session) => !told.has(session));
    const place = kill !== null && 'place' in kill ? kill.place : null;
    const afterMs = kill !== null && 'afterMs' in kill ? kill.afterMs : null;
    const { printed, signal, code, failed } = await start(bundle, { folder, sessions, place, afterMs });
    // What a killed process printed last may be cut off.
    for (const line of printed.split('\n').slice(0, -1)) {
      const end = JSON.parse(line) as { readonly session: string; readonly told: string; readonly ms: number };
      told.set(end.session, end.told);
      if (sessions.length === 1 && signal === null) sessionMs = end.ms;
    }
    if (signal === null && code !== 0) throw new Error(`${program} failed: ${failed}`);
    for (const session of sessions) if (!told.has(session)) kills.set(session, (kills.get(session) ?? 0) + 1);
    return signal === 'SIGKILL';
  }

  const linesOf = async (name: string): Promise<readonly string[]> =>
    (await readFile(join(folder, name), 'utf8')).split('\n');
  const ofSession = (lines: readonly string[], session: string): readonly string[] =>
    lines.filter((line) => line.startsWith(`${session} `)).map((line) => line.slice(session.length + 1));

  return {
    dataDir: join(folder, 'data'),
    begin(kill) {
      kills.set(`s-${kills.size}`, 0);
      return run(kill);
    },
    async finish() {
      if (told.size < kills.size) await run(null);
      const [world, places] = await Promise.all([linesOf('world'), linesOf('places')]);
      return [...kills].map(([session, times]) => ({
        session,
        world: ofSession(world, session),
        told: told.get(session) ?? '',
        places: ofSession(places, session),
        kills: times,
      }));
    },
    sessionMs: () => sessionMs,
    close: () => rm(folder, { recursive: true }),
  };
}

/** One file loads in half the time of a framework's hundreds. */
async function bundled(program: string): Promise<string> {
  const outfile = join(COMPAT, 'node_modules/.cache', program.replace('/', '-'));
  await build({
    entryPoints: [join(COMPAT, program)],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    external: ['classic-level'],
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);",
    },
    logLevel: 'error',
  });
  return outfile;
}

async function start(bundle: string, job: object) {
  const child = spawn(process.execPath, [bundle, JSON.stringify(job)], {
    cwd: COMPAT,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const texts = { printed: '', failed: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => void (texts.printed += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => void (texts.failed += text));
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  return { code, signal, ...texts };
}
