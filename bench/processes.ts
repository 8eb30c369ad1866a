// The processes that the bench starts: the engine through the command line, and scripts of the bench.
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

export const CLI = at('../src/cli/main.js');
export const BRIDGE_PROCESS = at('bridge-process.js');
export const REPLAY_PROCESS = at('replay-process.js');
export const MEMORY_PROCESS = at('memory-process.js');
export const ANSWER_PROCESS = at('answer-process.js');
export const MCP_SERVER = at('mcp-server.js');
/** The package: sources or an installation. */
export const PACKAGE_ROOT = at('../../');

/** The lines that the processes of the bench print. */
export type ChildLine =
  | { readonly event: 'ready' }
  | {
      readonly event: 'turns';
      readonly session: string;
      readonly which: 'first' | 'last';
      readonly at_ms: number;
    }
  | { readonly event: 'begun' | 'settled'; readonly session: string; readonly at_ms: number };

/** What `answer-process.ts` prints: how far the memory of the process rose. */
export interface MemoryTaken {
  readonly mb: number;
}

export interface Child<L> {
  /** The first line that it printed. */
  readonly ready: L;
  stop(): Promise<void>;
  /** Ends it without warning, as a crash does. */
  kill(): Promise<void>;
  /** The processor time of its main thread so far. */
  cpuMs(): number;
}

/** Starts a script and resolves when it has printed its first line. The script ends with this process. */
export async function startChild<L extends object>(
  argv: readonly string[],
  onLine: (line: L) => void = () => undefined,
): Promise<Child<L>> {
  const child = spawn(process.execPath, [...argv], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const ready = await new Promise<L>((resolve, fail) => {
    let first = true;
    createInterface({ input: child.stdout }).on('line', (text) => {
      const line = JSON.parse(text) as L;
      if (first) resolve(line);
      else onLine(line);
      first = false;
    });
    child.once('error', fail);
    child.once('exit', (code) => fail(new Error(`${argv[0]} ended with ${code}`)));
  });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    // An open standard input keeps the child alive.
    child.stdin.end();
    if (isAlive(child)) child.kill(signal);
    await exited;
  };
  return { ready, stop: () => end('SIGTERM'), kill: () => end('SIGKILL'), cpuMs: () => cpuMsOf(child.pid ?? 0) };
}

/** By the kernel's account (Linux): in nanoseconds, the first of three numbers. */
const cpuMsOf = (pid: number): number => Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6;

const isAlive = (child: ChildProcess): boolean => child.exitCode === null && child.signalCode === null;

export interface EngineReady {
  readonly url: string;
}

/** `refold serve` on a data directory; `port` 0 picks a free one. */
export const startServe = (dataDir: string, port = 0, more: readonly string[] = []): Promise<Child<EngineReady>> =>
  startChild([CLI, 'serve', '--data-dir', dataDir, '--port', String(port), '--json', '--exit-with-parent', ...more]);

export interface Ended {
  readonly code: number | null;
  readonly ms: number;
  readonly stdout: string;
}

/** Runs a script to its end; `onLine` gets each line as the script prints it. */
export async function runToEnd(
  argv: readonly string[],
  onLine: (line: string) => void = () => undefined,
): Promise<Ended> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  createInterface({ input: child.stdout }).on('line', (line) => {
    stdout += `${line}\n`;
    onLine(line);
  });
  return await new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve({ code, ms: performance.now() - startedAt, stdout }));
  });
}
