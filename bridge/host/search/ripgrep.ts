// Uses ripgrep as a prefilter: it lists the files that may contain a literal. It is not used for the lines, because its
// regular expressions, its encodings and its test for binary files differ from ours, and it opens files by path. The
// search opens each listed file itself. A file that is not listed cannot match, because the literal is ASCII and ripgrep
// searches every file as bytes. So the result is the same with and without it, which a test checks.
import { spawn } from 'node:child_process';
import { accessSync, constants, realpathSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';
import { isInside } from '../workspace/own-code.ts';
import type { Owner } from '../workspace/workspace.ts';

/**
 * rg: the first on the host's PATH that no path in the workspace leads to, where an agent could plant a program.
 * Its path is without links, so that it leads to the same program later.
 */
export function findRipgrep(workspacePath: string, identity: Owner | null): Ripgrep | null {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    if (!isAbsolute(directory)) continue;
    try {
      const path = realpathSync(join(directory, 'rg'));
      accessSync(path, constants.X_OK);
      // A program of many names does something else when it is started by its own.
      if (basename(path) !== 'rg') continue;
      if (![realpathSync(directory), path].some((place) => isInside(place, workspacePath))) return { path, identity };
    } catch {
      // Not in this directory.
    }
  }
  return null;
}

export interface Ripgrep {
  readonly path: string;
  /** The user that it runs as, that of commands; null for the host's own. A file that it cannot read ends the prefilter. */
  readonly identity: Owner | null;
}

/** True for a literal that matches bytes exactly where it matches the decoded text. */
export const canPrefilter = (literal: string): boolean => /^[\x20-\x7e]+$/.test(literal);

/** Paths below `directory`, `/`-separated, of the files that contain `literal`; null when rg could not read them all. */
export function filesContaining(
  { path: ripgrep, identity }: Ripgrep,
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
    const child = spawn(ripgrep, args, {
      ...identity,
      cwd: directory,
      env: {},
      stdio: ['ignore', 'pipe', 'ignore'],
      signal,
    });
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
