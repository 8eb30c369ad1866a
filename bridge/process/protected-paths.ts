// What no tool may read or write, as the command line says.
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { missingIn } from '../host/workspace/protected-places.ts';
import { type MainOptions, Misuse } from './options.ts';

type Missable = Pick<MainOptions, 'workspace' | 'protect'> & Partial<Pick<MainOptions, 'mcpConfig'>>;

/**
 * Refuses to protect what does not exist in the workspace: file tools would keep away from the path, but a command could make
 * it, with content of its choice. No tool reaches a path elsewhere.
 */
export function refuseMissing({ workspace, protect, mcpConfig }: Missable): void {
  if (mcpConfig !== undefined && !existsSync(mcpConfig))
    throw new Misuse(`--mcp-config ${mcpConfig} does not exist; make it with: refold mcp add`);
  const [missing] = existsSync(workspace) ? missingIn(workspace, protect) : [];
  if (missing === undefined) return;
  throw new Misuse(
    `--protect ${missing} does not exist, so a command in the workspace could make it; make it first, or correct the path`,
  );
}

/** The token, the directories that it lies in, the ledger, the cassette and the servers, with what the options add. */
export function protectedPaths({ tokenFile, stateDir, protect, record, mcpConfig }: MainOptions): readonly string[] {
  const tokens = dirname(resolve(tokenFile));
  const dataDir = dataDirectoryOf(tokenFile);
  const data = dataDir === null ? [] : [tokens, dataDir];
  return [...protect, tokenFile, ...data, ...[stateDir, record, mcpConfig].filter((path) => path !== undefined)];
}

/** The data directory that a token file lies in; null where it lies elsewhere. */
export function dataDirectoryOf(tokenFile: string): string | null {
  const tokens = dirname(resolve(tokenFile));
  return basename(tokens) === 'tokens' ? dirname(tokens) : null;
}
