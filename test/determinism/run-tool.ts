// Runs one of the tools as a child process.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export const runNode = (args: readonly string[], env: NodeJS.ProcessEnv = process.env): Promise<Ran> =>
  new Promise((resolve) => {
    execFile(process.execPath, args, { env, maxBuffer: 64 * 1_048_576 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
