// Replaces a damaged journal with the rebuilt one, and keeps the old files beside it. The rebuilt journal is
// made in
//
//   <journal>.salvage/lock     locked by the process that rebuilds or switches
//   <journal>.salvage/store    the rebuilt journal; once it contains the file REBUILT, it is the journal
//
// Before that file exists, every opening finds the old journal and starts the rebuild from the beginning. Once it exists,
// every opening first completes the switch, at whichever step a crash interrupted it. No file of the old journal is deleted.
import { access, open, readFile, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from '../../files/directories.ts';
import { codeOf } from '../../files/file-failure.ts';

const salvageDirectory = (directory: string): string => `${directory}.salvage`;
export const rebuiltDirectory = (directory: string): string => join(salvageDirectory(directory), 'store');
export const lockDirectory = (directory: string): string => join(salvageDirectory(directory), 'lock');

const REBUILT = 'REBUILT';
/** Other entries in the directory of a journal, which move to the rebuilt one: snapshots, and the record of torn writes. */
const COMPANIONS = ['snapshots', 'torn-tails.jsonl'];

/** Called before each step; an error that it throws ends the work before this step. */
export type OnStep = (step: string) => Promise<void>;

export const isSwitchPending = (directory: string): Promise<boolean> =>
  exists(join(rebuiltDirectory(directory), REBUILT));

/** Commits to the rebuilt journal, and stores the notices for the operator with it. */
export async function commitRebuilt(directory: string, notices: readonly string[], onStep: OnStep): Promise<void> {
  const rebuilt = rebuiltDirectory(directory);
  await syncDirectory(rebuilt);
  await syncDirectory(salvageDirectory(directory));
  await syncDirectory(dirname(directory));
  await onStep('writing the file that marks the journal as rebuilt');
  const temporary = join(rebuilt, `${REBUILT}.tmp`);
  const file = await open(temporary, 'w', 0o600);
  try {
    await file.writeFile(notices.map((notice) => `${notice}\n`).join(''));
    await file.sync();
  } finally {
    await file.close();
  }
  await onStep('committing');
  await rename(temporary, join(rebuilt, REBUILT));
  await syncDirectory(rebuilt);
}

/** Completes a switch that was begun. The caller holds the lock. */
export async function endSwitch(directory: string, onStep: OnStep): Promise<void> {
  if (!(await isSwitchPending(directory))) return;
  const rebuilt = rebuiltDirectory(directory);
  const parent = dirname(directory);
  for (const name of COMPANIONS) {
    if (!(await exists(join(directory, name))) || (await exists(join(rebuilt, name)))) continue;
    await onStep(`moving ${name}`);
    await rename(join(directory, name), join(rebuilt, name));
  }
  if (await exists(directory)) {
    await onStep('moving the old journal aside');
    await rename(directory, join(parent, await freeName(directory)));
    await syncDirectory(parent);
  }
  await onStep('moving the rebuilt journal into its place');
  await rename(rebuilt, directory);
  await syncDirectory(parent);
}

/** The notices that were stored with a rebuilt journal; empty for a journal that was never rebuilt. */
export async function readRebuilt(directory: string): Promise<readonly string[]> {
  const text = await readFile(join(directory, REBUILT), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

/** A free name for the directory that will keep the old journal. */
export async function freeName(directory: string): Promise<string> {
  const taken = new Set(await readdir(dirname(directory)));
  for (let n = 1; ; n += 1) {
    const name = `${basename(directory)}.damaged-${n}`;
    if (!taken.has(name)) return name;
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if (codeOf(error) === null) throw error;
    return false;
  }
}
