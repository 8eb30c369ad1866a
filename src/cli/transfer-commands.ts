// The options and help of the commands that carry sessions from one place to another, and delete what is no longer needed.
import { resolve } from 'node:path';
import { GC_GRACE_MS } from '../../schemas/limits.ts';
import { type Program, command, dataDir, sessionArgument, textOption, wholeNumber } from './command.ts';

export function addTransfer(program: Program): void {
  command(
    program,
    'export <session>',
    'write a session as JSON Lines: its tool package, the genesis record, then its commits',
    async (options, [id = ''], output) => {
      const { exportCommand } = await import('./commands/export.ts');
      const file = textOption(options, 'output');
      return await exportCommand(
        { dataDir: await dataDir(options), id: await sessionArgument(id), ...(file === undefined ? {} : { file }) },
        output,
      );
    },
  ).option('-o, --output <file>', 'a new file (default: standard output)');

  command(
    program,
    'import <file>',
    'store an exported session, verifying every digest; a run that was active is paused, and grants end',
    async (options, [file = ''], output) => {
      const { importCommand } = await import('./commands/import.ts');
      const asRecorded = options['asRecorded'] === true;
      return await importCommand({ dataDir: await dataDir(options), file, asRecorded, now: Date.now }, output);
    },
  ).option('--as-recorded', 'add nothing: the run, approvals and grants count here; for your own sessions only');

  command(
    program,
    'backup <target>',
    'copy the data directory, also beside a live engine, and verify the copy',
    async (options, [target = ''], output) => {
      const { backupCommand } = await import('./commands/backup.ts');
      return await backupCommand({ dataDir: await dataDir(options), target: resolve(target) }, output);
    },
  );

  command(
    program,
    'restore <backup>',
    'make a data directory of a backup, and verify it',
    async (options, [backup = ''], output) => {
      const { restoreCommand } = await import('./commands/restore.ts');
      return await restoreCommand({ backup: resolve(backup), dataDir: await dataDir(options) }, output);
    },
  );

  command(
    program,
    'delete <session>',
    'delete a session for good; its id and its last chain value stay',
    async (options, [id = ''], output) => {
      const { deleteCommand } = await import('./commands/delete.ts');
      const session = await sessionArgument(id);
      return await deleteCommand({ dataDir: await dataDir(options), session, yes: options['yes'] === true }, output);
    },
  ).option('--yes', 'do not ask');

  command(
    program,
    'gc',
    'find the blobs that no session refers to; --delete deletes them',
    async (options, _args, output) => {
      const { gcCommand } = await import('./commands/gc.ts');
      const graceMs =
        options['graceHours'] === undefined ? GC_GRACE_MS : wholeNumber(options, 'graceHours', 0) * HOUR_MS;
      return await gcCommand({ dataDir: await dataDir(options), remove: options['delete'] === true, graceMs }, output);
    },
  )
    .option('--delete', 'delete what is found')
    .option('--grace-hours <n>', 'ignore blobs stored within this many hours (default: 24)');
}

const HOUR_MS = 3_600_000;
