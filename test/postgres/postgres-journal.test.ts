import { afterAll, beforeAll } from 'vitest';
import { headsContract } from '../support/journal/heads-contract.ts';
import { type OpenedJournal, journalContract } from '../support/journal/journal-contract.ts';
import {
  type Database,
  type Server,
  createDatabase,
  describePostgres,
  openServer,
} from '../support/postgres/database.ts';
import { closeStores, openStores } from '../support/postgres/stores.ts';
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

  async function open(): Promise<OpenedJournal> {
    await database.empty();
    let stores = await openStores(database.url);
    return {
      journal: stores.journal,
      reopen: async () => {
        await closeStores(stores);
        stores = await openStores(database.url);
        return stores.journal;
      },
      dispose: () => closeStores(stores),
    };
  }

  journalContract('the journal in PostgreSQL', open, { modelRuns: roundsOf(10, 300) });
  headsContract('the journal in PostgreSQL', open);
});
