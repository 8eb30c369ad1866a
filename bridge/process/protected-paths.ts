// What no tool may read or write, as the command line says.
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { missingIn } from '../host/workspace/protected-places.ts';
import { type MainOptions, Misuse } from './options.ts';

/**
 * Refuses to protect what does not exist in the workspace: file tools would keep away from the path, but a command could make
 * it, with content of its choice. No tool reaches a path elsewhere.
 */
export function refuseMissing({ workspace, protect }: Pick<MainOptions, 'workspace' | 'protect'>): void {
  const [missing] = existsSync(workspace) ? missingIn(workspace, protect) : [];
  if (missing === undefined) return;
  throw new Misuse(
    `--protect ${missing} does not exist, so a command in the workspace could make it; make it first, or correct the path`,
  );
}

/**
 * The token, the directories that it lies in, the ledger, the cassette and the skills, with what the options add. Without a sandbox
 * nothing can keep commands from a path in the workspace, and the digests of skills say what changed.
 */
export function protectedPaths({
  tokenFile,
  stateDir,
  protect,
  record,
  skills,
  sandbox,
}: MainOptions): readonly string[] {
  const tokens = dirname(resolve(tokenFile));
  const data = basename(tokens) === 'tokens' ? [tokens, dirname(tokens)] : [];
  return [
    ...protect,
    ...(sandbox === 'none' ? [] : skills),
    tokenFile,
    ...data,
    ...[stateDir, record].filter((path) => path !== undefined),
  ];
}
