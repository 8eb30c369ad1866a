// The command line for tests: in the test's own process where no process is tested, and as the built program, with
// engines and bridges that can be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, chown, mkdtemp, realpath, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { SessionId } from '../../../schemas/ids.ts';
import type { StreamEvent } from '../../../schemas/record.ts';
import { runCommandLine } from '../../../src/cli/program.ts';
import type { EngineClient } from '../../../src/client/index.ts';

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
export const CLI = join(ROOT, 'dist/src/cli/main.js');
const PROGRAM = join(ROOT, 'dist/src/cli/program.js');
const NOBODY = 65_534;

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command in this process, without the start-up time of a process. Commands that start an engine or a bridge by path
 * (`run`, `undo`, `demo`) take {@link refoldBuilt}; `bridge`, `bench` and those that wait for a signal {@link refoldProcess}.
 */
export function refold(args: readonly string[]): Promise<Finished> {
  return finished(runCommandLine, args);
}

/** Runs a command of the built program in this process; the engine and the bridge that it starts are processes. */
export async function refoldBuilt(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  const { runCommandLine: built } = (await import(PROGRAM)) as { readonly runCommandLine: typeof runCommandLine };
  const before = { ...process.env };
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  try {
    return await finished(built, args);
  } finally {
    for (const name of Object.keys(env)) delete process.env[name];
    Object.assign(process.env, before);
  }
}

async function finished(run: typeof runCommandLine, args: readonly string[]): Promise<Finished> {
  const [stdout, stderr] = [new Capture(), new Capture()];
  const code = await run(args, { stdout, stderr });
  return { code, stdout: stdout.text(), stderr: stderr.text() };
}

class Capture extends Writable {
  readonly #chunks: Buffer[] = [];

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#chunks.push(chunk);
    done();
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString('utf8');
  }
}

/** Runs the built `refold` as a process until it exits. */
export function refoldProcess(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  const child = spawn(process.execPath, [CLI, ...args], { env: { ...process.env, NO_COLOR: '1', ...env } });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

export const jsonLines = (text: string): readonly Readonly<Record<string, unknown>>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);

export interface Started {
  readonly process: ChildProcess;
  readonly ready: Readonly<Record<string, unknown>>;
  /** Kills it and waits until it has exited. */
  kill(): Promise<void>;
}

/** Starts `refold ...args --json` and waits for its first line. */
export async function start(args: readonly string[]): Promise<Started> {
  const child = spawn(process.execPath, [CLI, ...args, '--json'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ready = await new Promise<Readonly<Record<string, unknown>>>((resolve, fail) => {
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line) as never));
    child.once('exit', (code) => fail(new Error(`refold ${args.join(' ')} ended with ${code}`)));
  });
  return {
    process: child,
    ready,
    kill: async () => {
      // `refold bridge` starts the bridge as a child process, which must be killed first so it cannot shut down cleanly.
      if (typeof ready['pid'] === 'number' && ready['pid'] !== child.pid && isAlive(child)) {
        process.kill(ready['pid'], 'SIGKILL');
      }
      child.kill('SIGKILL');
      await exited;
    },
  };
}

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

/** A fresh directory that an unprivileged user may enter; `writable`: and write to. */
export async function freshDirectory(writable = false): Promise<string> {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'refold-e2e-')));
  await chmod(directory, 0o755);
  if (writable && process.getuid?.() === 0) await chown(directory, NOBODY, NOBODY);
  return directory;
}

export interface RecordedTurn {
  readonly content?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
}

/** Writes a recording for the bridge's recorded model. */
export async function writeRecording(directory: string, turns: readonly RecordedTurn[]): Promise<string> {
  const path = join(directory, 'turns.jsonl');
  const lines = turns.map((turn, index) => JSON.stringify({ turn: index + 1, calls: [], content: '', ...turn }));
  await writeFile(path, `${lines.join('\n')}\n`);
  return path;
}

/** Follows a session until an event fits; returns all events up to it. */
export async function eventsUntil(
  client: EngineClient,
  id: SessionId,
  fits: (record: StreamEvent) => boolean,
): Promise<readonly StreamEvent[]> {
  const over = new AbortController();
  const seen: StreamEvent[] = [];
  for await (const record of client.follow(id, { signal: over.signal })) {
    seen.push(record);
    if (fits(record)) break;
  }
  over.abort();
  return seen;
}
