// The MCP servers of a bridge process: which configuration it follows, and under which name it sets their toolsets.
import { join, resolve } from 'node:path';
import { digestText } from '../../schemas/canonical.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import { type Logins, openLogins } from '../mcp/oauth/login-store.ts';
import type { MainOptions } from './options.ts';
import { dataDirectoryOf } from './protected-paths.ts';

export interface McpSettings {
  readonly configFile: string;
  readonly owner: OwnerId;
  /** Null without a data directory, where they are kept. */
  readonly logins: Logins | null;
}

/**
 * Null for a bridge without a configuration. The file of a data directory has one name wherever that lies, so that a session
 * that is moved with it keeps its toolsets; any other file is named by its path.
 */
export function mcpSettings({
  mcpConfig,
  tokenFile,
  undoOnly,
}: Pick<MainOptions, 'mcpConfig' | 'tokenFile' | 'undoOnly'>): McpSettings | null {
  if (undoOnly) return null;
  const dataDir = dataDirectoryOf(tokenFile);
  const logins = dataDir === null ? null : openLogins(join(dataDir, LOGINS));
  if (mcpConfig !== undefined) {
    const configFile = resolve(mcpConfig);
    return { configFile, logins, owner: brand(`mcp-config/${digestText(configFile).slice(7, 23)}`) };
  }
  return dataDir === null ? null : { configFile: join(dataDir, MCP_FILE), logins, owner: brand('mcp-config') };
}

const MCP_FILE = 'mcp.json';
/** The folder of a data directory with the logins at servers. */
const LOGINS = 'mcp-logins';
