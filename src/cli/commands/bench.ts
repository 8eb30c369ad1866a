// `refold bench`: measures this machine. A separate process, started by path, does the measuring.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BENCH = fileURLToPath(new URL('../../../bench/main.js', import.meta.url));

/** Runs the bench with inherited streams and returns its exit code. */
export function benchCommand(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [BENCH, ...args], { stdio: 'inherit' });
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve(code ?? 2));
  });
}
