// The stores in a database, as tests open and close them.
import { must } from '../../../src/client/must.ts';
import { backgroundClock } from '../../../src/clock.ts';
import { type PostgresStores, openPostgresStores } from '../../../src/postgres/postgres-stores.ts';

export const openStores = (url: string): Promise<PostgresStores> =>
  must(openPostgresStores(url, { clock: backgroundClock, onWrite: () => undefined }));

export async function closeStores({ journal, blobs }: PostgresStores): Promise<void> {
  await journal.close();
  await blobs.close();
}
