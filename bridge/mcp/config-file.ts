// The configuration file of MCP servers, and the changes of it. It is looked at again and again, because a file that an editor
// replaces, or that does not exist yet, cannot be watched. A file that cannot be used keeps what was configured before.
import { readFile, stat } from 'node:fs/promises';
import { isLeft } from 'fp-ts/lib/Either.js';
import { MCP_CONFIG_BYTES_MAX, MCP_CONFIG_LOOK_MS } from '../../schemas/limits.ts';
import type { BridgeClock } from '../../src/clock.ts';
import { codeOf, reasonOf } from '../../src/files/file-failure.ts';
import { type McpConfig, NO_SERVERS, parseConfig } from '../../src/toolsets/mcp-config.ts';
import type { Log } from '../log.ts';

export interface ConfigFile {
  /** Ends the watch. */
  close(): void;
}

interface ConfigFilePorts {
  readonly clock: BridgeClock;
  readonly log: Log;
  readonly onConfig: (config: McpConfig) => void;
}

/** Reads the file, and passes on what it says now and after each change. A file that does not exist configures nothing. */
export async function watchConfig(path: string, { clock, log, onConfig }: ConfigFilePorts): Promise<ConfigFile> {
  let known = '';
  let cancel: () => void = () => undefined;
  let isClosed = false;

  async function look(): Promise<void> {
    const version = await versionOf(path);
    if (version === known || isClosed) return;
    known = version;
    const config = version === MISSING ? NO_SERVERS : await readConfig(path, log);
    if (config === null || isClosed) return;
    for (const { path: at, message } of config.faults) log({ event: 'mcp_config_fault', file: path, at, message });
    onConfig(config);
  }

  const lookAgain = (): void => {
    if (isClosed) return;
    cancel = clock.after(MCP_CONFIG_LOOK_MS, () => void look().finally(lookAgain));
  };
  await look();
  lookAgain();
  return {
    close() {
      isClosed = true;
      cancel();
    },
  };
}

const MISSING = 'missing';

async function versionOf(path: string): Promise<string> {
  try {
    const { mtimeNs, size, ino } = await stat(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? MISSING : `unreadable: ${reasonOf(error)}`;
  }
}

/** Null for a file that cannot be used. */
async function readConfig(path: string, log: Log): Promise<McpConfig | null> {
  const fault = (at: string, message: string): null => {
    log({ event: 'mcp_config_fault', file: path, at, message: `${message}; the servers stay as they were` });
    return null;
  };
  try {
    const { size } = await stat(path);
    if (size > MCP_CONFIG_BYTES_MAX)
      return fault('', `the file has ${size} bytes, and at most ${MCP_CONFIG_BYTES_MAX} are read`);
    const config = parseConfig(await readFile(path, 'utf8'));
    return isLeft(config) ? fault(config.left.path, config.left.message) : config.right;
  } catch (error) {
    return fault('', `the file cannot be read: ${reasonOf(error)}`);
  }
}
