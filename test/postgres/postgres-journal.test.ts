import { afterAll, beforeAll } from 'vitest';
import { must } from '../../src/client/must.ts';
import { backgroundClock } from '../../src/clock.ts';
import { type PostgresStores, openPostgresStores } from '../../src/postgres/postgres-stores.ts';
import { headsContract } from '../support/journal/heads-contract.ts';
import { type OpenedJournal, journalContract } from '../support/journal/journal-contract.ts';
import { type Database, type Server, createDatabase, describePostgres, openServer } from '../support/postgres/database.ts';
import { roundsOf } from '../support/random.ts';

describePostgres('on a server', () => {
  let server: Server;
  let database: Database;
  beforeAll(async () => {
    server = await openServer();
    database = await createDatabase(server);
  }, 120_000);
  afterAll(async () => {
    await database.drop();
    await server.stop();
  });

  const openStores = (): Promise<PostgresStores> =>
    must(openPostgresStores(database.url, { clock: backgroundClock, onWrite: () => undefined }));
  const closeStores = async ({ journal, blobs }: PostgresStores): Promise<void> => {
    await journal.close();
    await blobs.close();
  };

  async function open(): Promise<OpenedJournal> {
    await database.empty();
    let stores = await openStores();
    return {
      journal: stores.journal,
      reopen: async () => {
        await closeStores(stores);
        stores = await openStores();
        return stores.journal;
      },
      dispose: () => closeStores(stores),
    };
  }

  journalContract('the journal in PostgreSQL', open, { modelRuns: roundsOf(10, 300) });
  headsContract('the journal in PostgreSQL', open);
});
