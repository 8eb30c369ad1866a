// Finds, creates and checks the data directory of an engine.
import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../files/directories.ts';
import { codeOf, reasonOf } from '../files/file-failure.ts';
import { isSwitchPending } from '../journal/salvage/rebuild-switch.ts';
import { cannotRead } from './files.ts';
import { shellWord } from '../shown/shell-word.ts';
import { CommandFailure } from './output.ts';

/** The data directory: the option, REFOLD_DATA_DIR, or `.refold` in the home directory. */
export function dataDirOf(option: string | undefined): string {
  const home = homedir();
  // An empty REFOLD_DATA_DIR counts as unset. An empty --data-dir is an error: it is likely an unset shell variable.
  const named = option ?? (process.env['REFOLD_DATA_DIR'] || (home === '' ? '' : join(home, '.refold')));
  if (named !== '') return resolve(named);
  throw new CommandFailure('invalid_shape', 'the data directory is empty. Give --data-dir DIR');
}

/** How commands for people name a data directory: not at all when it is the usual one. */
export const directoryOf = (dataDir: string): string =>
  dataDir === dataDirOf(undefined) ? '' : `--data-dir ${shellWord(dataDir)}`;

/** The directories that no tool may read or write: this data directory, and the one that other engines use by default. */
export function ownDirectories(dataDir: string): readonly string[] {
  const home = homedir();
  return home === '' ? [dataDir] : [dataDir, join(home, '.refold')];
}

/** Creates a missing data directory, for a command that may start one. */
export async function makeDataDir(dataDir: string): Promise<void> {
  await makeDirectory(dataDir).catch((error: unknown) => {
    const why = reasonOf(error, { EEXIST: 'it exists and is not a directory' });
    throw new CommandFailure('storage_failed', `cannot create the data directory ${dataDir}: ${why}`);
  });
  await refuseWithoutJournal(dataDir);
}

/** Whether an engine has kept data here. That the directory exists proves nothing: it may be any directory. */
export async function hasData(dataDir: string): Promise<boolean> {
  await refuseWithoutJournal(dataDir);
  const journal = journalOf(dataDir);
  const exists = await stat(journal).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT') return false;
      throw cannotRead(dataDir, error);
    },
  );
  return exists || (await isSwitchPending(journal));
}

/**
 * Ends the command when an engine has used the directory and its journal is missing: opening it would silently create an
 * empty one. The epochs directory is the evidence: it is created beside a journal and stays when the journal is deleted.
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
    `an engine has used ${dataDir}, but its journal is missing: ${journal} contains nothing of it. ` +
    'Restore it from a backup; to start over, choose another directory.';
  throw new CommandFailure('damaged', message);
}

/** Ends a command that must not create a data directory when it is missing: the path may be mistyped. */
export async function requireData(dataDir: string): Promise<void> {
  if (await hasData(dataDir)) return;
  const message = `there is no data directory at ${dataDir}. To create one: refold serve --data-dir ${dataDir}`;
  throw new CommandFailure('no_data_dir', message);
}

export const journalOf = (dataDir: string): string => join(dataDir, 'journal');

/** The directory of the ledgers of the bridges of a data directory. */
export const bridgeStateDir = (dataDir: string): string => join(dataDir, 'bridges');
