// `refold journal init`: makes the schema of a journal in a database.
import { must } from '../../client/must.ts';
import { initPostgres } from '../../postgres/postgres-stores.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface JournalCommand {
  readonly action: string;
  /** The database. */
  readonly url?: string;
}

export async function journalCommand({ action, url }: JournalCommand, output: Output): Promise<number> {
  if (action !== 'init') {
    throw new CommandFailure('invalid_shape', `there is no action "${action}". Use: refold journal init --journal URL`);
  }
  if (url === undefined) {
    throw new CommandFailure(
      'invalid_shape',
      'no database is named. Give --journal postgres://USER:PASSWORD@HOST:5432/DATABASE',
    );
  }
  const made = await must(initPostgres(url));
  output.object({ event: 'journal', made });
  output.line(made ? 'made the schema refold' : 'the schema refold is there already');
  return 0;
}
