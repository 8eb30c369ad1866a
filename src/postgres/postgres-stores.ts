// The stores of one engine in one database: journal, blobs and lease epochs, over shared connections.
import { randomUUID } from 'node:crypto';
import { isLeft, left } from 'fp-ts/lib/Either.js';
import type { TaskEither } from 'fp-ts/lib/TaskEither.js';
import { EPOCHS_RESERVED, POSTGRES_READS_MAX } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { Blobs } from '../blobs/blobs.ts';
import type { Clock } from '../clock.ts';
import type { Journal } from '../journal/journal.ts';
import { type PostgresAddress, postgresAddress } from './address.ts';
import { type Connection, loadDriver } from './driver.ts';
import { newPool } from './pool.ts';
import { openPostgresBlobs } from './postgres-blobs.ts';
import { openPostgresJournal } from './postgres-journal.ts';
import { catchLost } from './refused.ts';
import { initSchema, requireSchema } from './schema.ts';
import { claimAll } from './tenures.ts';

export interface PostgresStores {
  /** Closing it gives the partitions up. */
  readonly journal: Journal;
  /** Closing them after the journal ends the last connections. */
  readonly blobs: Blobs;
  readonly epochs: {
    /** Reserves so many lease epochs that no engine of this database reserves. */
    reserve(count: number): Promise<number>;
  };
}

export interface StoresOptions {
  readonly clock: Clock;
  /** Called with the milliseconds that each statement that writes took. */
  readonly onWrite: (took: number) => void;
}

/** Opens the stores in the database of a URL, and claims every partition. */
export const openPostgresStores = (
  url: string,
  { clock, onWrite }: StoresOptions,
): TaskEither<Rejection, PostgresStores> =>
  onAddress(url, async (address) => {
    const connect = await loadDriver(address);
    const pool = newPool(connect, POSTGRES_READS_MAX);
    try {
      await pool.use((using) => requireSchema(using, address.shown));
      const tenures = await claimAll({ pool, clock, engine: randomUUID(), leaseEpochs: EPOCHS_RESERVED });
      const journal = await openPostgresJournal({ connect, pool, tenures, onWrite });
      const blobs = openPostgresBlobs(pool);
      return {
        journal: { ...journal, close: () => journal.close().then(() => tenures.close()) },
        blobs: { ...blobs, close: () => blobs.close().then(() => pool.close()) },
        epochs: {
          reserve: async (count) => {
            const [row] = await pool.query(RESERVE, [count]);
            return Number(row?.['first']);
          },
        },
      };
    } catch (error) {
      await pool.close();
      throw error;
    }
  });

const RESERVE =
  'UPDATE refold.meta SET next_lease_epoch = next_lease_epoch + $1::bigint RETURNING next_lease_epoch - $1::bigint AS first';

/** Makes the schema in the database of a URL; whether it was missing. */
export const initPostgres = (url: string): TaskEither<Rejection, boolean> =>
  onAddress(url, async (address) => {
    const connect = await loadDriver(address);
    const connection: Connection = await connect();
    try {
      return await initSchema(connection, address.shown);
    } finally {
      await connection.end();
    }
  });

const onAddress = <T>(url: string, work: (address: PostgresAddress) => Promise<T>): TaskEither<Rejection, T> => {
  const address = postgresAddress(url);
  return isLeft(address) ? () => Promise.resolve(left(address.left)) : catchLost(() => work(address.right));
};
