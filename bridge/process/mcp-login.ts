// The entry point of a process in which a person signs in at an MCP server, for `refold mcp login`. Standard input: a line of JSON
// with the secrets, then a line for each address that the person gives. Standard output: one JSON object per line.
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { isLeft } from 'fp-ts/lib/Either.js';
import { systemClock } from '../../src/clock.ts';
import { readFile } from 'node:fs/promises';
import { whatFailed } from '../../src/files/file-failure.ts';
import { parseConfig } from '../../src/toolsets/mcp-config.ts';
import type { HttpSettings } from '../../src/toolsets/mcp-config-transport.ts';
import { openKeeper } from '../host/exec/keeper.ts';
import { openLogins } from '../mcp/oauth/login-store.ts';
import { signIn } from '../mcp/oauth/sign-in.ts';
import { resolveSettings } from '../mcp/references.ts';

const TEXT = { type: 'string' } as const;
const OPTIONS = { 'mcp-config': TEXT, logins: TEXT, server: TEXT, scope: TEXT, logout: { type: 'boolean' } } as const;

async function main(): Promise<object> {
  const { values } = parseArgs({ options: OPTIONS, strict: true });
  const { 'mcp-config': file = '', logins = '', server = '', scope = null, logout = false } = values;
  const lines = createInterface({ input: process.stdin });
  const secrets = JSON.parse(await firstLine(lines)) as Record<string, string>;
  const settings = await settingsOf(resolve(file), server, { ...process.env, ...secrets });
  const login = openLogins(resolve(logins)).of(server, settings.url);
  if (logout) return { event: 'done', removed: login.remove() };
  const stop = new AbortController();
  lines.once('close', () => stop.abort());
  const keeper = openKeeper();
  try {
    const needed = await signIn(
      { settings, login, scope },
      {
        keeper,
        clock: systemClock,
        signal: stop.signal,
        onAddress(address, { uri, paste }) {
          print({ event: 'address', address, redirect_uri: uri });
          lines.on('line', (line) => {
            const fault = line.trim() === '' ? null : paste(line);
            if (fault !== null) print({ event: 'not_taken', message: fault });
          });
        },
      },
    );
    return { event: 'done', needed };
  } finally {
    keeper.close();
    lines.close();
  }
}

async function settingsOf(
  file: string,
  server: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<HttpSettings> {
  const config = parseConfig(await readFile(file, 'utf8'));
  if (isLeft(config)) throw new Error(`${file} at ${config.left.path}: ${config.left.message}`);
  const found = config.right.servers.find(({ title }) => title === server);
  if (found === undefined) throw new Error(`${file} configures no server ${JSON.stringify(server)} that can run`);
  if (found.transport.kind !== 'http') throw new Error(`${JSON.stringify(server)} is a local server, without logins`);
  const resolved = resolveSettings(found.transport, variables);
  if (isLeft(resolved))
    throw new Error(`the configuration refers to ${resolved.left.join(', ')}, without a value here`);
  return resolved.right.settings;
}

const firstLine = (lines: ReturnType<typeof createInterface>): Promise<string> =>
  new Promise((done) => {
    lines.once('line', done);
    lines.once('close', () => done('{}'));
  });

const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

try {
  print(await main());
} catch (error) {
  print({ event: 'failed', message: whatFailed(error) });
  process.exitCode = 1;
}
// What waits for a further line would keep this process.
process.stdin.destroy();
