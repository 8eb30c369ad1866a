// Makes the schema, and refuses a database that an engine must not write to.
import type { Connection, Row } from './driver.ts';
import { reject } from '../../schemas/rejection.ts';
import { Refusal } from '../journal/refusal.ts';
import { inTransaction } from './pool.ts';
import { FUNCTIONS } from './schema-functions.ts';
import { SCHEMA_VERSION, TABLES } from './schema-tables.ts';

/** The oldest release of the server, as it numbers itself. */
const SERVER_MIN = 140_000;

/** Serializes openings that make the schema; any number that other programs do not use. */
const MAKING = 7_265_666_740;

/** Makes the schema `refold`; whether it was missing. Refuses another version, and a server that could not hold it. */
export async function initSchema(connection: Connection, shown: string): Promise<boolean> {
  refuseServer(await readServer(connection), shown);
  return await inTransaction(connection, async () => {
    await connection.query('SELECT pg_advisory_xact_lock($1)', [MAKING]);
    const version = await readVersion(connection);
    if (version !== null) {
      refuseVersion(version, shown);
      return false;
    }
    await connection.query(TABLES);
    for (const statement of FUNCTIONS) await connection.query(statement);
    return true;
  });
}

/** Refuses a database without the schema, of another version, or on a server that may lose or alter what it acknowledged. */
export async function requireSchema(connection: Connection, shown: string): Promise<void> {
  refuseServer(await readServer(connection), shown);
  const version = await readVersion(connection);
  if (version === null) {
    refuse(`${shown} has no schema refold; make it: refold journal init --journal URL`);
  }
  refuseVersion(version, shown);
}

/** Whoever named the database must change it, or name another. */
function refuse(message: string): never {
  throw new Refusal(reject('invalid_value', '/journal', message));
}

const SERVER = `
SELECT current_setting('server_version_num')::integer AS release, pg_is_in_recovery() AS is_standby,
       current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
       current_setting('full_page_writes') AS full_page_writes, current_setting('synchronous_commit') AS synchronous_commit`;

const readServer = async (connection: Connection): Promise<Row> => (await connection.query(SERVER))[0] ?? {};

function refuseServer(server: Row, shown: string): void {
  if (Number(server['release']) < SERVER_MIN) {
    refuse(`${shown} is older than PostgreSQL 14; use a newer server`);
  }
  if (server['is_standby'] === true) {
    refuse(`${shown} is a standby, which takes no writes; name the primary`);
  }
  if (server['encoding'] !== 'UTF8') {
    refuse(
      `${shown} has the encoding ${String(server['encoding'])}; make a database with UTF8: createdb --encoding UTF8 --template template0`,
    );
  }
  for (const name of ['fsync', 'full_page_writes', 'synchronous_commit']) {
    if (server[name] !== 'off') continue;
    refuse(`${shown} has ${name} off, so a crash may lose acknowledged events; turn it on`);
  }
}

async function readVersion(connection: Connection): Promise<number | null> {
  const [schema] = await connection.query("SELECT to_regnamespace('refold') IS NOT NULL AS exists");
  if (schema?.['exists'] !== true) return null;
  const [meta] = await connection.query("SELECT to_regclass('refold.meta') IS NOT NULL AS exists");
  if (meta?.['exists'] !== true) return 0;
  const [row] = await connection.query('SELECT version FROM refold.meta');
  return Number(row?.['version'] ?? 0);
}

function refuseVersion(version: number, shown: string): void {
  if (version === SCHEMA_VERSION) return;
  const next =
    version === 0
      ? 'it is not of refold: name another database'
      : 'use the refold version that made it, or another database';
  refuse(
    `the schema refold of ${shown} has version ${version === 0 ? 'none' : version}; this engine reads version ${SCHEMA_VERSION} only; ${next}`,
  );
}
