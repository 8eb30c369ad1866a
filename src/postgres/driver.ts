// The driver: connections to one database, loaded only when a journal is in one. An error of the server becomes a Refusal
// here; a connection that is lost while the server works leaves open what the server did (`Lost`).
import { readFile } from 'node:fs/promises';
import type { Client, ClientConfig, QueryResult, types as Types } from 'pg';
import { type RejectionCode, reject } from '../../schemas/rejection.ts';
import { reasonOf } from '../files/file-failure.ts';
import { Refusal, refuse } from '../journal/refusal.ts';
import type { PostgresAddress } from './address.ts';

/** What a statement is given: a Buffer in binary form, all else as text. */
export type Given = Buffer | string | number | boolean | null;

/** A row, by the names of its columns; a `bigint` is a number. */
export type Row = Readonly<Record<string, unknown>>;

/** One statement. Throws a Refusal when the server refuses it, and `Lost` when the connection ends before the answer. */
export type Query = (statement: string, given?: readonly Given[]) => Promise<readonly Row[]>;

export interface Connection {
  readonly query: Query;
  /** False once it has ended, for whatever reason. */
  readonly isOpen: boolean;
  end(): Promise<void>;
}

/** Opens a connection; refuses as `storage_failed` when there is none. */
export type Connect = () => Promise<Connection>;

/** A connection ended before the server answered: the statement may have taken effect, or may do so yet. */
export class Lost extends Error {
  override readonly name = 'Lost';
}

export const isLost = (error: unknown): error is Lost => error instanceof Lost;

const CONNECT_MS_MAX = 10_000;
type TypeId = Parameters<typeof Types.getTypeParser>[0];

/** Loads the driver, and the certificates that the address names. */
export async function loadDriver(address: PostgresAddress): Promise<Connect> {
  const { Client: NewClient, types } = await import('pg').then(
    (module) => module,
    () => refuse('storage_failed', 'a journal in PostgreSQL needs the driver: npm install pg@8.23'),
  );
  const ca = address.rootCertificate === undefined ? null : await readCertificates(address.rootCertificate);
  const { host, port, database, user, password, isLocal } = address;
  const config: ClientConfig = {
    host,
    port,
    database,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ssl: isLocal ? false : { rejectUnauthorized: true, ...(ca === null ? {} : { ca }) },
    application_name: 'refold',
    connectionTimeoutMillis: CONNECT_MS_MAX,
    keepAlive: true,
    types: {
      getTypeParser: (oid: TypeId) => (oid === types.builtins.INT8 ? Number : (types.getTypeParser(oid) as unknown)),
    },
  };
  return () => connectTo(new NewClient(config), address);
}

const readCertificates = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) =>
    refuse('storage_failed', `cannot read the certificates in ${path}: ${reasonOf(error)}`),
  );

async function connectTo(client: Client, { shown }: PostgresAddress): Promise<Connection> {
  let open = true;
  // A connection that ends while nothing is asked of it is opened anew when something is.
  client.on('error', () => (open = false));
  client.on('end', () => (open = false));
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    return refuse(codeOfFailure(error), `cannot connect to ${shown}: ${reasonOf(error)}${adviceOf(error)}`);
  }
  return {
    query: async (statement, given = []) => {
      try {
        const { rows }: QueryResult<Row> = await client.query<Row>(statement, [...given]);
        return rows;
      } catch (error) {
        if (!isAnswer(error)) open = false;
        throw isAnswer(error) ? refusalOf(error) : new Lost(`the connection to ${shown} was lost: ${reasonOf(error)}`);
      }
    },
    get isOpen() {
      return open;
    },
    end: async () => {
      open = false;
      await client.end().catch(() => undefined);
    },
  };
}

/** The error of a statement, as the server reports it: the transaction had no effect. */
interface ServerError extends Error {
  readonly code: string;
  readonly severity: string;
}

/** A fatal error ends the connection, and may come after a commit that waits for a standby. */
const isAnswer = (error: unknown): error is ServerError =>
  error instanceof Error && 'severity' in error && error.severity === 'ERROR' && 'code' in error;

const refusalOf = (error: ServerError): Refusal =>
  new Refusal(reject(codeOfFailure(error), '', `the database refused a statement (${error.code}): ${error.message}`));

const DISK_FULL = '53100';

const codeOfFailure = (error: unknown): RejectionCode =>
  sqlStateOf(error) === DISK_FULL ? 'storage_full' : 'storage_failed';

const sqlStateOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** What to do about a connection that is refused. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': '; correct the password in the URL',
  '28000': '; correct the user in the URL, or allow it in pg_hba.conf',
  '3D000': '; create the database first: createdb',
  '53300': '; the server has no free connection: raise max_connections, or stop what holds them',
  ECONNREFUSED: '; start the server, or correct the address',
};

const adviceOf = (error: unknown): string => ADVICE[sqlStateOf(error)] ?? '';
