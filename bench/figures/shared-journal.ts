// The throughput of the journal in PostgreSQL beside the floor, and how much room it takes. Measured where `--journal` names
// a database with the schema, which keeps the sessions of the bench.
import { join } from 'node:path';
import { must } from '../../src/client/must.ts';
import { backgroundClock } from '../../src/clock.ts';
import { openPostgresStores } from '../../src/postgres/postgres-stores.ts';
import { alternate } from '../alternate.ts';
import { appendTurns } from '../append-turns.ts';
import { type Bench, type Figure, sized } from '../figure.ts';
import { openFloor } from '../floor.ts';
import { type Row, rowOf } from '../row.ts';

export const sharedJournal: Figure = { name: 'shared-journal', run: measure };

async function measure(bench: Bench): Promise<readonly Row[]> {
  if (bench.journal === undefined) {
    bench.note('the journal in PostgreSQL was not measured: give --journal URL');
    return [];
  }
  const floor = await openFloor(join(await bench.directory(), 'floor'));
  const stores = await must(openPostgresStores(bench.journal, { clock: backgroundClock, onWrite: () => undefined }));
  const rows: Row[] = [];
  try {
    for (const [sessions, turns] of [
      [1, sized(bench, 2, 300)],
      [sized(bench, 2, 100), sized(bench, 2, 20)],
      [sized(bench, 3, 1_000), sized(bench, 2, 5)],
    ] as const) {
      const contest = {
        postgres: async () => (await appendTurns(stores.journal, sessions, turns)).rate,
        floored: () => floor.run(sessions, turns),
      };
      for (const warmUp of Object.values(contest)) await warmUp();
      const runs = sized(bench, 1, 5);
      const said = (run: number): void => bench.progress(`shared journal, ${sessions} sessions: run ${run}/${runs}`);
      const values = await alternate(runs, contest, said);
      const what = `the journal in PostgreSQL alone, ${sessions} sessions`;
      rows.push(
        rowOf({ what, unit: 'turns/s', values: values.postgres, limit: { what: 'floor', values: values.floored } }),
      );
    }
    return rows;
  } finally {
    await floor.close();
    await stores.journal.close();
    await stores.blobs.close();
  }
}
