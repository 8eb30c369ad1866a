// Databases for tests: on the server that REFOLD_TEST_POSTGRES names, else on one that is started from installed binaries.
import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { describe } from 'vitest';
import { must } from '../../../src/client/must.ts';
import { initPostgres } from '../../../src/postgres/postgres-stores.ts';
import { installedServer, startCluster } from './cluster.ts';

export interface Server {
  readonly url: (database: string) => string;
  readonly stop: () => Promise<void>;
}

type Group = (name: string, tests: () => void) => void;

const named = process.env['REFOLD_TEST_POSTGRES'] ?? '';
const bin = await installedServer();

if (bin === null && process.env['CI'] !== '1') {
  const next = named === '' ? 'or name a server in REFOLD_TEST_POSTGRES' : 'for those that stop a server';
  process.stderr.write(`skipped: tests of PostgreSQL; install its server (Debian: postgresql), ${next}\n`);
}

// In CI a missing server fails: the tests run, and cannot begin.
function groupOf(canRun: boolean): Group {
  return canRun || process.env['CI'] === '1' ? describe : describe.skip;
}

/** A group of tests where a server can be had; elsewhere the run says that it skips them, and in CI it fails. */
export const describePostgres: Group = groupOf(named !== '' || bin !== null);

/** The same for tests that start, stop and damage a server of their own. */
export const describeCluster: Group = groupOf(bin !== null);

export function requireBinaries(): string {
  if (bin === null) throw new Error('no PostgreSQL server is installed below /usr/lib/postgresql');
  return bin;
}

/** A server; throws when there is none. */
export async function openServer(): Promise<Server> {
  if (named === '') return await startCluster(requireBinaries());
  const base = new URL(named);
  return {
    url: (database) => Object.assign(new URL(base), { pathname: `/${database}` }).href,
    stop: () => Promise.resolve(),
  };
}

export interface Database {
  readonly url: string;
  /** Runs one statement as its owner, beside every engine. */
  readonly query: (statement: string, given?: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  /** Removes every row that engines wrote. */
  readonly empty: () => Promise<void>;
  readonly drop: () => Promise<void>;
}

/** A new database with the schema. */
export async function createDatabase(server: Server, { init = true, encoding = 'UTF8' } = {}): Promise<Database> {
  const name = `refold_test_${randomBytes(6).toString('hex')}`;
  const url = server.url(name);
  await asOwner(maintenanceOf(server), (client) =>
    client.query(`CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`),
  );
  if (init) await must(initPostgres(url));
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  return {
    url,
    query: async (statement, given = []) => (await client.query<Record<string, unknown>>(statement, [...given])).rows,
    empty: async () => void (await client.query(EMPTY)),
    drop: async () => {
      await client.end();
      await asOwner(maintenanceOf(server), (owner) => owner.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

const maintenanceOf = (server: Server): string => server.url('postgres');

async function asOwner(url: string, work: (client: Client) => Promise<unknown>): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await work(client).finally(() => client.end());
}

const EMPTY = `
DELETE FROM refold.stream; DELETE FROM refold.genesis; DELETE FROM refold.package; DELETE FROM refold.commit;
DELETE FROM refold.event_id; DELETE FROM refold.tombstone; DELETE FROM refold.snapshot; DELETE FROM refold.blob;
DELETE FROM refold.blob_part; DELETE FROM refold.page;
UPDATE refold.partition SET engine = NULL, url = NULL, expires_at = '-infinity';`;
