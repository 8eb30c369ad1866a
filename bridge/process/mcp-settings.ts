// The MCP servers of a bridge process: which configuration it follows, and under which name it sets their toolsets.
import { join, resolve } from 'node:path';
import { digestText } from '../../schemas/canonical.ts';
import { type OwnerId, brand } from '../../schemas/ids.ts';
import type { MainOptions } from './options.ts';
import { dataDirectoryOf } from './protected-paths.ts';

export interface McpSettings {
  readonly configFile: string;
  readonly owner: OwnerId;
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
  if (mcpConfig !== undefined) {
    const configFile = resolve(mcpConfig);
    return { configFile, owner: brand(`mcp-config/${digestText(configFile).slice(7, 23)}`) };
  }
  const dataDir = dataDirectoryOf(tokenFile);
  return dataDir === null ? null : { configFile: join(dataDir, MCP_FILE), owner: brand('mcp-config') };
}

const MCP_FILE = 'mcp.json';
