// A reader of all entries that stops reading does not keep the journal from being closed or opened again.
import { expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openStoreHandle } from '../../src/journal/store-handle.ts';
import { storedEntries } from '../../src/journal/stored-entries.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { commitAt, createSample, idleHead, session } from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const id = session('s');

test('a write that fails is answered while a reader has stopped, and the reader is refused', async () => {
  let failing = false;
  const store = makeMemoryStore({ write: () => (failing ? 'lost' : null) });
  const journal = await must(openStoredJournal(store.open));
  await must(createSample(journal, id));
  const reading = journal.entries()?.[Symbol.asyncIterator]();
  await reading?.next();
  failing = true;
  expect(await outcome(journal.append(id, [commitAt(0, 'e')], idleHead))).toBe('storage_failed');
  failing = false;
  expect(await outcome(journal.append(id, [commitAt(0, 'e')], idleHead))).toBe('done');
  await expect(reading?.next()).rejects.toThrow('back up again');
  await journal.close();
});

test('a store on disk closes while a reader has stopped or its scan is running', () =>
  inTemporaryDirectory(async (directory) => {
    const handle = await openStoreHandle(() => openLevelStore(directory));
    await handle.use((store) => store.write([{ key: Buffer.from('g'), value: Buffer.from('v') }]));
    const [stopped, scanning] = [storedEntries(handle), storedEntries(handle)];
    await stopped.next();
    await scanning.next();
    const last = scanning.next();
    await handle.close();
    expect(await last).toMatchObject({ done: true });
    await expect(stopped.next()).rejects.toThrow('back up again');
  }));
