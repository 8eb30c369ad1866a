// `refold restore`: makes a data directory of a backup, and verifies it before it gets its name.
import { copyFile, lstat, mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '../../files/directories.ts';
import { refuseWhenOpen } from '../../journal/level/lock.ts';
import { catchRefusal } from '../../journal/refusal.ts';
import { must } from '../../client/must.ts';
import { verifyCopy } from '../audit/verify-copy.ts';
import { journalOf, requireData } from '../data-dir.ts';
import { CommandFailure, type Output } from '../output.ts';
import { beginDirectory, isUnfinished, refuseInside, tellFull } from '../unfinished-directory.ts';
import { writeEpochs } from './backup.ts';

export interface RestoreCommand {
  readonly backup: string;
  readonly dataDir: string;
}

export async function restoreCommand({ backup, dataDir }: RestoreCommand, output: Output): Promise<number> {
  if (await isUnfinished(backup)) {
    throw new CommandFailure('damaged', `${backup} was left by a backup that did not finish; name a whole one`);
  }
  await requireData(backup);
  // Files that an engine writes to cannot be copied as they are: that is what `refold backup` is for.
  await must(catchRefusal(() => refuseWhenOpen(journalOf(backup))));
  await refuseInside(backup, dataDir);
  return await tellFull(dataDir, () => makeRestored({ backup, dataDir }, output));
}

async function makeRestored({ backup, dataDir }: RestoreCommand, output: Output): Promise<number> {
  const unfinished = await beginDirectory(dataDir);
  const { directory } = unfinished;
  let files = 0;
  for (const name of ['journal', 'blobs']) {
    await copyTree(join(backup, name), join(directory, name), () => {
      files += 1;
      output.note(`copied ${files} files`);
    });
  }
  output.note('');
  await writeEpochs(backup, directory);
  output.line(`copied ${files} files; verifying ${directory}`);
  const { code, isKept, damaged } = await verifyCopy(directory, backup, output);
  if (!isKept) {
    output.line(`the copy does not verify; it stays at ${directory} and is not complete`);
    return code;
  }
  await unfinished.finish();
  output.object({ event: 'restored', data_dir: dataDir, files, damaged });
  output.line(`restored ${backup} to ${dataDir}. To use it: refold serve --data-dir ${dataDir}`);
  // The backup may have been taken beside a live engine.
  output.line(
    'Its runs continue where the backup was taken. The engine that was backed up must not run any more: ' +
      'what both owe runs twice, also calls that have run there since.',
  );
  return code;
}

/** Copies regular files and directories, durably. A link could lead to files that are no part of the backup. */
async function copyTree(from: string, to: string, onFile: () => void): Promise<void> {
  if (!(await lstat(from)).isDirectory()) {
    throw new CommandFailure('damaged', `${from} is not a directory, so this is no whole backup; name another one`);
  }
  await mkdir(to, { mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyTree(source, target, onFile);
    if (!entry.isFile()) continue;
    await copyFile(source, target);
    const file = await open(target, 'r+');
    await file.sync().finally(() => file.close());
    onFile();
  }
  await syncDirectory(to);
}
