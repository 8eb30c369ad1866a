// `refold gc`: finds and deletes the blobs that no session refers to.
import { join } from 'node:path';
import { paint } from '../../shown/paint.ts';
import { openFileBlobs } from '../../blobs/file-blobs.ts';
import { systemClock } from '../../clock.ts';
import { collectBlobs } from '../../engine/collect-blobs.ts';
import { openLevelJournal } from '../../journal/level-journal.ts';
import { journalOf, requireData } from '../data-dir.ts';
import { findEngine, namingHolder } from '../engine-address.ts';
import { must, mustBe } from '../../client/must.ts';
import { CommandFailure, type Output } from '../output.ts';

export interface GcCommand {
  readonly dataDir: string;
  /** Delete what is found; otherwise only report it. */
  readonly remove: boolean;
  readonly graceMs: number;
}

export async function gcCommand({ dataDir, remove, graceMs }: GcCommand, output: Output): Promise<number> {
  if ((await findEngine(dataDir)) !== null) {
    throw new CommandFailure(
      'engine_running',
      `an engine has ${dataDir} open. Stop the engine, run gc, then start it again.`,
    );
  }
  await requireData(dataDir);
  // What a stream refers to is kept, so every stream must be whole.
  const journal = mustBe(
    await namingHolder(dataDir, await openLevelJournal(journalOf(dataDir), { everyTable: true })()),
  );
  try {
    if ((journal.damage?.vanished.length ?? 0) > 0) {
      const message = `sessions may be missing, and gc would delete their blobs: ${journal.notices.join('; ')}. Restore ${dataDir} from a backup first.`;
      throw new CommandFailure('damaged', message);
    }
    const blobs = await must(openFileBlobs(join(dataDir, 'blobs')));
    const found = await must(collectBlobs({ journal, blobs, nowMs: systemClock.now(), graceMs, remove }));
    await blobs.close();
    const { referenced, young, unreferenced } = found;
    output.object({ ...found, deleted: remove ? unreferenced.length : 0 });
    for (const ref of unreferenced)
      output.line(`${remove ? paint.red('deleted') : paint.yellow('unreferenced')}  ${ref}`);
    output.line(`${referenced} referenced, ${young} recent, ${unreferenced.length} unreferenced`);
    if (!remove && unreferenced.length > 0) output.line('nothing was deleted. To delete them: --delete');
  } finally {
    await journal.close();
  }
  return 0;
}
