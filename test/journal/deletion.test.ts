// A deletion that is cut off at any write, and what it leaves on the disk.
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { markClosed } from '../../src/journal/level/closed-file.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { type MemoryStore, makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome } from '../support/journal/outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  genesisNaming,
  idleHead,
  numbersFrom,
  owingHead,
  readIds,
  samplePackage,
  session,
  snapshotOf,
  storedEvent,
  tombstoneOf,
} from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const id = session('doomed');
const other = session('other');
const EVENTS = 40;
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** A journal with a session of many commits, so that its sweep takes several writes. */
async function filled(open: MemoryStore['open']): Promise<ReturnType<typeof openStoredJournal>> {
  const opening = openStoredJournal(open);
  const journal = await must(opening);
  for (const name of [id, other]) await must(createSample(journal, name));
  for (let at = 0; at < EVENTS; at += 1) await must(journal.append(id, [commitAt(at, `e${at}`)], owingHead));
  await must(journal.append(other, [commitAt(0, 'kept')], idleHead));
  await journal.close();
  return opening;
}

const keysOf = (disk: ReadonlyMap<string, unknown>): readonly string[] =>
  [...disk.keys()].filter((key) => key.includes('doomed') || key.startsWith('e')).sort();

async function fileIn(directory: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(directory))
    .filter((one) => pattern.test(one))
    .sort()
    .at(-1);
  return join(directory, name ?? 'missing');
}

describe('a deletion', () => {
  test('that is cut off at any write leaves the session whole or deleted, and the next opening completes it', async () => {
    for (const fault of ['lost', 'applied'] as const) {
      let completed = false;
      for (let k = 1; !completed; k += 1) {
        let writes = Number.POSITIVE_INFINITY;
        const store = makeMemoryStore({ write: () => ((writes -= 1) < 0 ? fault : null), open: () => writes < 0 });
        const opening = await filled(store.open);
        const journal = await must(opening);
        writes = k - 1;
        completed = (await outcome(journal.delete(tombstoneOf(id, EVENTS)))) === 'done';
        writes = Number.POSITIVE_INFINITY;

        // The process died: its journal is not closed.
        const again = await must(opening);
        const found = await outcome(again.head(id));
        if (found === 'done') {
          expect([k, fault]).toEqual([1, 'lost']);
          expect(await readIds(again, id)).toHaveLength(EVENTS);
          expect(await must(again.append(id, [commitAt(EVENTS, 'next')], idleHead))).toBe(EVENTS + 1);
        } else {
          expect(found).toBe('session_deleted');
          expect(await outcome(createSample(again, id))).toBe('session_deleted');
          expect(await must(again.tombstones(null, 10))).toEqual([tombstoneOf(id, EVENTS)]);
          expect(keysOf(store.disk).map((key) => key[0])).toEqual(['e', 'x']);
        }
        expect(await readIds(again, other)).toEqual(['kept']);
        expect((await must(again.sessions({ limit: 10 }))).sessions).toHaveLength(found === 'done' ? 2 : 1);
      }
    }
  });

  test('of which the first write failed answers what is on the disk', async () => {
    for (const [fault, expected] of [
      ['lost', 'storage_failed'],
      ['applied', 'done'],
    ] as const) {
      let failing = false;
      const store = makeMemoryStore({ write: () => (failing ? ((failing = false), fault) : null) });
      const journal = await must(await filled(store.open));
      failing = true;
      expect(await outcome(journal.delete(tombstoneOf(id, EVENTS)))).toBe(expected);
      expect(await outcome(journal.head(id))).toBe(fault === 'lost' ? 'done' : 'session_deleted');
    }
  });

  test('is kept when the journal is rebuilt after damage', async () => {
    await inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      for (const name of [id, other]) {
        await must(journal.create(name, genesisNaming(name, samplePackage), samplePackage, idleHead));
      }
      await must(journal.delete(tombstoneOf(id, 0)));
      await must(journal.append(other, [commitAt(0, 'kept')], idleHead));
      await journal.close();
      await (await must(openLevelJournal(directory))).close();
      // Without a manifest, everything is read from the tables.
      await rm(await fileIn(directory, /^MANIFEST-/));
      const rebuilt = await must(openLevelJournal(directory));
      expect(rebuilt.notices).not.toEqual([]);
      expect(await outcome(rebuilt.head(id))).toBe('session_deleted');
      expect(await must(rebuilt.tombstones(null, 10))).toEqual([tombstoneOf(id, 0)]);
      expect(await readIds(rebuilt, other)).toEqual(['kept']);
      await rebuilt.close();
    });
  });

  test('that a damaged log has lost does not bring the session back unnoticed', async () => {
    await inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      for (const name of [id, other]) {
        await must(journal.create(name, genesisNaming(name, samplePackage), samplePackage, idleHead));
      }
      await journal.close();
      const store = await openLevelStore(directory);
      const second = await must(openStoredJournal(async () => ({ ...store, compact: async () => undefined })));
      await must(second.delete(tombstoneOf(id, 0)));
      await second.close();
      await markClosed(directory);
      // One byte of the write that deletes: its record is lost, and the file of the clean stop names the session.
      const log = await fileIn(directory, /\.log$/);
      const bytes = await readFile(log);
      const at = bytes.indexOf(`x${id}`);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await writeFile(log, bytes);
      const rebuilt = await must(openLevelJournal(directory));
      expect(['damaged', 'session_deleted']).toContain(await outcome(rebuilt.head(id)));
      expect(await outcome(createSample(rebuilt, id))).not.toBe('done');
      expect(await outcome(rebuilt.head(other))).toBe('done');
      await rebuilt.close();
    });
  });

  test('leaves no byte of the session in any file', async () => {
    await inTemporaryDirectory(async (directory) => {
      // Random words: LevelDB compresses its tables, and what does not compress can be found in them.
      const draw = numbersFrom(7);
      const word = (): string => Array.from({ length: 24 }, () => LETTERS[draw(LETTERS.length)]).join('');
      const [doomed, kept] = [Array.from({ length: EVENTS + 3 }, word), word()];
      const [genesis, title, state, ...texts] = doomed;
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id, JSON.stringify({ genesis })));
      await must(createSample(journal, other, JSON.stringify({ kept })));
      const head = { ...idleHead, card: { ...idleHead.card, title: title ?? '' } };
      for (const [at, said] of texts.entries()) {
        // Long enough that the log is written to tables in between.
        const text = JSON.stringify({ event_id: `e${at}`, said, more: 'x'.repeat(200_000) });
        await must(journal.append(id, [commitWith(at, [storedEvent(`e${at}`, text)])], head));
      }
      await must(journal.snapshots.put(snapshotOf(id, EVENTS, JSON.stringify({ state }))));
      const wordsFound = async (words: readonly string[]): Promise<readonly string[]> => {
        const names = await readdir(directory, { recursive: true, withFileTypes: true });
        const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
        const contents = await Promise.all(files.map((path) => readFile(path, 'latin1')));
        return words.filter((one) => contents.some((content) => content.includes(one)));
      };
      // Some are split by the headers of blocks.
      expect((await wordsFound(doomed)).length).toBeGreaterThan(EVENTS / 2);
      await must(journal.delete(tombstoneOf(id, EVENTS)));
      expect(await wordsFound(doomed)).toEqual([]);
      expect(await wordsFound([kept])).toEqual([kept]);
      await journal.close();
      const again = await must(openLevelJournal(directory));
      expect(again.notices).toEqual([]);
      expect(await must(again.genesis(other))).toContain(kept);
      await again.close();
    });
  });
});
