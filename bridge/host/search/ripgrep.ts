// ripgrep as a prefilter: which files may hold a literal. It is never asked for lines: its dialect, its encodings
// and its idea of a binary file are its own, and it opens files by path. What it names is read again by the walk;
// what it does not name cannot match, because the literal is ASCII and it is told to search every file as bytes.
// So the answer is the same with and without it, which a test checks.
import { spawn } from 'node:child_process';
import { constants, accessSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Where rg is: the first executable on the host's PATH outside of the workspace, where an agent could plant one. */
export function findRipgrep(workspacePath: string): string | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    const inside = directory === workspacePath || directory.startsWith(`${workspacePath}/`);
    if (!isAbsolute(directory) || inside) continue;
    const path = join(directory, 'rg');
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // Not in this directory.
    }
  }
  return null;
}

/** True for a literal on which bytes and decoded text cannot disagree. */
export const canPrefilter = (literal: string): boolean => /^[\x20-\x7e]+$/.test(literal);

/** Paths below `directory`, `/`-separated, of the files that hold `literal`; null when rg cannot vouch for all. */
export function filesHolding(
  ripgrep: string,
  literal: string,
  directory: string,
  signal: AbortSignal,
): Promise<ReadonlySet<string> | null> {
  const args = [
    '--no-config',
    '--no-messages',
    '--files-with-matches',
    '--null',
    '--fixed-strings',
    '--case-sensitive',
  ];
  args.push('--no-ignore', '--hidden', '--text', '--encoding', 'none', '--no-mmap', '--glob', '!.git/', '--glob');
  args.push('!node_modules/', '--color', 'never', '--regexp', literal, '--', '.');
  return new Promise((answer) => {
    const child = spawn(ripgrep, args, { cwd: directory, env: {}, stdio: ['ignore', 'pipe', 'ignore'], signal });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', () => answer(null));
    child.on('close', (code) => {
      // 0: some, 1: none, 2: something could not be read, so that what is missing proves nothing.
      if (code !== 0 && code !== 1) answer(null);
      else answer(new Set(Buffer.concat(chunks).toString('utf8').split('\0').map(withoutDot)));
    });
  });
}

const withoutDot = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);
