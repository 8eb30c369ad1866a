// Puts a rebuilt journal in the place of a damaged one, or of one that was converted; its files are kept beside it. The rebuilt one is made in
//
//   <journal>.salvage/lock     held by whoever rebuilds or switches
//   <journal>.salvage/store    the rebuilt journal; once REBUILT is in it, it is the journal
//
// Before that file appears, every opening finds the old journal and begins anew; from then on every opening first
// ends the switch, whichever of its steps a crash interrupted. Nothing of the old journal is deleted.
import { access, open, readFile, readdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { syncDirectory } from '../../files/directories.ts';
import { codeOf } from '../../files/file-failure.ts';

const salvageDirectory = (directory: string): string => `${directory}.salvage`;
export const rebuiltDirectory = (directory: string): string => join(salvageDirectory(directory), 'store');
export const lockDirectory = (directory: string): string => join(salvageDirectory(directory), 'lock');

const REBUILT = 'REBUILT';
/** What else is in the directory of a journal, and goes with the rebuilt one: hints, and a record of torn writes. */
const COMPANIONS = ['snapshots', 'torn-tails.jsonl'];

/** Called before each step; what it throws ends the work there. */
export type OnStep = (step: string) => Promise<void>;

export const isSwitchPending = (directory: string): Promise<boolean> =>
  exists(join(rebuiltDirectory(directory), REBUILT));

/**
 * From here on the rebuilt journal is the journal; what an operator should know of the damage stays with it. Nothing, when
 * it was only converted.
 */
export async function commitRebuilt(directory: string, notices: readonly string[], onStep: OnStep): Promise<void> {
  const rebuilt = rebuiltDirectory(directory);
  await syncDirectory(rebuilt);
  await syncDirectory(salvageDirectory(directory));
  await syncDirectory(dirname(directory));
  await onStep('writing what says that it is rebuilt');
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

/** Ends a switch that was begun, under the lock. */
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
    const isDamaged = (await readRebuilt(rebuilt)).length > 0;
    await rename(directory, join(parent, await freeName(directory, isDamaged)));
    await syncDirectory(parent);
  }
  await onStep('moving the rebuilt journal into its place');
  await rename(rebuilt, directory);
  await syncDirectory(parent);
}

/** What a journal that was rebuilt says of it; nothing when it never was. */
export async function readRebuilt(directory: string): Promise<readonly string[]> {
  const text = await readFile(join(directory, REBUILT), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '');
}

/** The name under which the old journal will be kept. */
export async function freeName(directory: string, isDamaged: boolean): Promise<string> {
  const taken = new Set(await readdir(dirname(directory)));
  for (let n = 1; ; n += 1) {
    const name = `${basename(directory)}.${isDamaged ? 'damaged' : 'converted'}-${n}`;
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
