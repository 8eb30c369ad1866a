// `refold bench`: the figures of this machine, measured by a process of their own that is started by path.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const BENCH = fileURLToPath(new URL('../../../bench/main.js', import.meta.url));

/** Runs the bench, its output going where ours goes; gives its exit code. */
export function benchCommand(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, [BENCH, ...args], { stdio: 'inherit' });
  return new Promise((resolve, fail) => {
    child.once('error', fail);
    child.once('close', (code) => resolve(code ?? 2));
  });
}
