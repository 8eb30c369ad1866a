// A process that appends until it is killed: `append-loop <directory>`. Prints `ready`, then one line
// `<session> <version>` for every acknowledged append.
import { writeSync } from 'node:fs';
import { must } from '../../../src/client/must.ts';
import { openLevelJournal } from '../../../src/journal/level-journal.ts';
import { loopEvents, loopSessions } from './loop-events.ts';
import { commitAt, createSample, headOf } from './samples.ts';

async function main(directory: string): Promise<void> {
  const journal = await must(openLevelJournal(directory));
  await Promise.all(loopSessions.map((id) => createSample(journal, id, `genesis of ${id}`)()));
  writeSync(1, 'ready\n');
  await Promise.all(
    loopSessions.map(async (id) => {
      let { version: at } = await must(journal.head(id));
      for (;;) {
        const events = loopEvents(id, at);
        at = await must(journal.append(id, [commitAt(at, ...events)], headOf(at % 2 === 0)));
        writeSync(1, `${id} ${at}\n`);
      }
    }),
  );
}

await main(process.argv[2] ?? '');
