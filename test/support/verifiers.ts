// The verifiers that share no code with refold. Each takes the command line of docs/format.md, "A verifier, step by step".
import { spawn, spawnSync } from 'node:child_process';
import { ROOT } from './e2e/refold.ts';

export interface Verifier {
  /** The program, from the root of the repository. */
  readonly name: string;
  /** What runs it, and the arguments before the program. */
  readonly interpreter: readonly [string, ...string[]];
}

/** One line for each. Without -B, Python writes byte code into the working tree. */
export const VERIFIERS: readonly Verifier[] = [
  { name: 'tools/verify.py', interpreter: ['python3', '-B'] },
  { name: 'tools/verify.pl', interpreter: ['perl'] },
];

/** Whether the interpreter runs. Where it does not, the tests of its verifier say so, and fail in CI. */
export function isInstalled({ name, interpreter: [command] }: Verifier): boolean {
  if (spawnSync(command, ['--version']).status === 0) return true;
  process.stderr.write(`SKIPPED: ${command} is not installed, so ${name} is not tested\n`);
  return false;
}

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function runVerifier(
  { name, interpreter: [command, ...before] }: Verifier,
  args: readonly string[],
): Promise<Ran> {
  const child = spawn(command, [...before, `${ROOT}${name}`, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ran = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text));
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve({ code, ...ran }));
  });
}
