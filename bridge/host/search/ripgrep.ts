// Uses ripgrep as a prefilter: it lists the files that may contain a literal. It is not used for the lines, because its
// regular expressions, its encodings and its test for binary files differ from ours, and it opens files by path. The
// search opens each listed file itself. A file that is not listed cannot match, because the literal is ASCII and ripgrep
// searches every file as bytes. So the result is the same with and without it, which a test checks.
import { spawn } from 'node:child_process';
import { constants, accessSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** The path of rg: the first on the host's PATH that is outside the workspace, where an agent could plant a program. */
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

/** True for a literal that matches bytes exactly where it matches the decoded text. */
export const canPrefilter = (literal: string): boolean => /^[\x20-\x7e]+$/.test(literal);

/** Paths below `directory`, `/`-separated, of the files that contain `literal`; null when rg could not read them all. */
export function filesContaining(
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
  return new Promise((resolve) => {
    const child = spawn(ripgrep, args, { cwd: directory, env: {}, stdio: ['ignore', 'pipe', 'ignore'], signal });
    const chunks: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', () => resolve(null));
    child.on('close', (code) => {
      // 0: matches, 1: no match, 2: a file could not be read, so the list may be incomplete.
      if (code !== 0 && code !== 1) resolve(null);
      else resolve(new Set(Buffer.concat(chunks).toString('utf8').split('\0').map(withoutDot)));
    });
  });
}

const withoutDot = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);
