// A process that appends until it is killed: `append-loop <directory>`. Prints `ready`, then one line
// `<session> <version>` for every acknowledged append.
import { writeSync } from 'node:fs';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import { done } from './outcomes.ts';
import { loopEvents, loopSessions } from './loop-events.ts';
import { recordsOf, version } from './samples.ts';

async function main(directory: string): Promise<void> {
  const journal = await done(openLevelJournal(directory));
  await Promise.all(loopSessions.map((id) => journal.create(id, `genesis of ${id}`)()));
  writeSync(1, 'ready\n');
  await Promise.all(
    loopSessions.map(async (id) => {
      let { version: at } = await done(journal.head(id));
      for (;;) {
        const events = loopEvents(id, at);
        at = await done(journal.append(id, version(at), recordsOf(...events), at % 2 === 0));
        writeSync(1, `${id} ${at}\n`);
      }
    }),
  );
}

await main(process.argv[2] ?? '');
