// Journals in a database: the option that names one, and the command that makes its schema.
import { type Options, type Program, command, textOption } from '../command.ts';

/** The option --journal, else REFOLD_JOURNAL; undefined when the journal is in the data directory. */
export function journalUrl(options: Options): string | undefined {
  const named = textOption(options, 'journal');
  // It may hold a password. A title replaces the arguments that listings of processes show.
  if (named !== undefined) process.title = 'refold';
  return named ?? (process.env['REFOLD_JOURNAL'] || undefined);
}

export function addJournal(program: Program): void {
  command(
    program,
    'journal <action>',
    'init: make the schema of a journal in PostgreSQL, once; again is no error',
    async (options, [action = ''], output) => {
      const { journalCommand } = await import('./init.ts');
      const url = journalUrl(options);
      return await journalCommand({ action, ...(url === undefined ? {} : { url }) }, output);
    },
  ).option('--journal <url>', 'the database (default: $REFOLD_JOURNAL)');
}
