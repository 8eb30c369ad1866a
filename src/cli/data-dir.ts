// Where an engine keeps its data.
import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../files/directories.ts';
import { codeOf, reasonOf } from '../files/file-failure.ts';
import { isSwitchPending } from '../journal/salvage/rebuild-switch.ts';
import { cannotRead } from './files.ts';
import { CommandFailure } from './output.ts';

/** The data directory: the option, REFOLD_DATA_DIR, or `.refold` in the home directory. */
export function dataDirOf(option: string | undefined): string {
  const home = homedir();
  // A variable that is set to nothing is not set; an option of nothing is one of those, put where it was needed.
  const named = option ?? (process.env['REFOLD_DATA_DIR'] || (home === '' ? '' : join(home, '.refold')));
  if (named !== '') return resolve(named);
  throw new CommandFailure('invalid_shape', 'no data directory is named: give --data-dir DIR');
}

/** Makes a data directory where there is none, for a command that may begin one. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await makeDirectory(dataDir).catch((error: unknown) => {
    const why = reasonOf(error, { EEXIST: 'something else is there' });
    throw new CommandFailure('storage_failed', `cannot make the data directory ${dataDir}: ${why}`);
  });
  await refuseWithoutJournal(dataDir);
}

/** Whether an engine has ever had its data here; that the folder is there says nothing: it may be any. */
export async function hasData(dataDir: string): Promise<boolean> {
  await refuseWithoutJournal(dataDir);
  const journal = journalOf(dataDir);
  const there = await stat(journal).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw cannotRead(dataDir, error);
    },
  );
  return there || (await isSwitchPending(journal));
}

/**
 * Ends a command where an engine has worked and its journal is gone: opening it would begin an empty one there, and
 * nobody would be told. Epochs are put aside only beside a journal, and stay when it is deleted.
 */
async function refuseWithoutJournal(dataDir: string): Promise<void> {
  const journal = journalOf(dataDir);
  const namesIn = (directory: string): Promise<readonly string[]> =>
    readdir(directory).catch((error: unknown) => {
      if (codeOf(error) === 'ENOENT') return [];
      throw cannotRead(directory, error);
    });
  if (!(await namesIn(dataDir)).includes('epochs')) return;
  const isOfJournal = (name: string): boolean => /^(?:CURRENT|\d+\.(?:ldb|sst|log))$/.test(name);
  if ((await namesIn(journal)).some(isOfJournal) || (await isSwitchPending(journal))) return;
  const message =
    `an engine has worked in ${dataDir}, and its journal is gone: nothing of it is in ${journal}. ` +
    'Restore it from a backup; to begin anew, choose another directory.';
  throw new CommandFailure('damaged', message);
}

/** Ends a command that may not begin a data directory where there is none: its path may be mistyped. */
export async function requireData(dataDir: string): Promise<void> {
  if (await hasData(dataDir)) return;
  const message = `there is no data directory at ${dataDir}. To make one: refold serve --data-dir ${dataDir}`;
  throw new CommandFailure('no_data_dir', message);
}

export const journalOf = (dataDir: string): string => join(dataDir, 'journal');

/** Where the bridges that were started for a data directory keep their ledgers. */
export const bridgeStateDir = (dataDir: string): string => join(dataDir, 'bridges');
