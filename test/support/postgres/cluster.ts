// A PostgreSQL server of its own for a test, from installed binaries: as an unprivileged user, in a temporary directory, with
// fsync on. The test may stop it as a power cut would.
import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Cluster {
  readonly port: number;
  /** The URL of a database in it. */
  readonly url: (database: string) => string;
  /** Stops the server, `immediate` without a checkpoint, and starts it again. */
  readonly restart: (mode: 'fast' | 'immediate') => Promise<void>;
  /** Starts it again as a standby without a primary, which only answers reads. */
  readonly makeStandby: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

const DEBIAN = '/usr/lib/postgresql';

/** The directory with the newest installed server; null when there is none. */
export async function installedServer(): Promise<string | null> {
  if (!existsSync(DEBIAN)) return null;
  const versions = (await readdir(DEBIAN)).map(Number).filter((version) => version >= 14);
  const newest = versions.sort((a, b) => b - a).find((version) => existsSync(join(DEBIAN, `${version}`, 'bin/initdb')));
  return newest === undefined ? null : join(DEBIAN, `${newest}`, 'bin');
}

/** Starts a server; `options` are lines of its configuration. */
export async function startCluster(bin: string, options: readonly string[] = []): Promise<Cluster> {
  const base = await mkdtemp(join(tmpdir(), 'refold-postgres-'));
  const data = join(base, 'data');
  const user = unprivileged();
  await mkdir(data, { mode: 0o700 });
  for (const directory of [base, data]) if (user.uid !== undefined) await chown(directory, user.uid, user.gid ?? 0);
  const port = await freePort();
  const as = { ...user, env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' }, cwd: base };
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'refold', '-A', 'trust', '-E', 'UTF8', '--no-sync'], as);
  const lines = [`port = ${port}`, `listen_addresses = '127.0.0.1'`, `unix_socket_directories = '${base}'`, ...options];
  await writeFile(join(data, 'postgresql.auto.conf'), `${lines.join('\n')}\n`);
  if (user.uid !== undefined) await chown(join(data, 'postgresql.auto.conf'), user.uid, user.gid ?? 0);
  const control = (...args: string[]): Promise<unknown> =>
    run(join(bin, 'pg_ctl'), ['-D', data, '-w', '-t', '60', '-l', join(base, 'log'), ...args], as);
  await control('start');
  return {
    port,
    url: (database) => `postgres://refold@127.0.0.1:${port}/${database}`,
    restart: async (mode) => void (await control('-m', mode, 'restart')),
    makeStandby: async () => {
      await writeFile(join(data, 'standby.signal'), '');
      if (user.uid !== undefined) await chown(join(data, 'standby.signal'), user.uid, user.gid ?? 0);
      await control('-m', 'fast', 'restart');
    },
    stop: async () => {
      await control('-m', 'immediate', 'stop');
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** The server refuses to run as root. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

function freePort(): Promise<number> {
  return new Promise((resolve, fail) => {
    const server = createServer().once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
