// A journal whose files are no longer found by name acknowledges nothing, and touches nothing that took their place.
import { cp, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openFileBlobs } from '../../src/blobs/file-blobs.ts';
import { must } from '../../src/client/must.ts';
import { openFileEpochs } from '../../src/engine/leases/epochs.ts';
import { anchorDirectory } from '../../src/files/anchor.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { anchorStore } from '../../src/journal/level/anchored-store.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { openLedgerDirectory } from '../../bridge/ledger/ledger-disk.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  idleHead,
  readIds,
  session,
  snapshotOf,
  storedEvent,
} from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

const id = session('s');

type Lose = (directory: string) => Promise<void>;

const aside = (directory: string): string => `${directory}-aside`;

const WAYS: Readonly<Record<string, Lose>> = {
  deleted: (directory) => rm(directory, { recursive: true }),
  renamed: (directory) => rename(directory, aside(directory)),
  'deleted and made anew': async (directory) => {
    await rm(directory, { recursive: true });
    await mkdir(directory);
  },
  'replaced by a copy': async (directory) => {
    await rename(directory, aside(directory));
    await cp(aside(directory), directory, { recursive: true });
  },
  'without its parent': (directory) => rename(join(directory, '..'), aside(join(directory, '..'))),
};

const namesIn = (directory: string): Promise<readonly string[]> => readdir(directory).catch(() => ['(missing)']);

describe('a journal', () => {
  test.each(Object.entries(WAYS))('that is %s refuses every write', async (_name, lose) => {
    await inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'data', 'journal');
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id));
      await must(journal.append(id, [commitAt(0, 'a')], idleHead));
      await lose(directory);
      const found = await namesIn(directory);
      const refused = await refusal(journal.append(id, [commitAt(1, 'b')], idleHead));
      expect(refused).toMatchObject({ code: 'storage_failed' });
      expect(refused.message).toMatch(/deleted or renamed|replaced by another.*put the original back/);
      expect(await outcome(createSample(journal, session('t')))).toBe('storage_failed');
      expect(await outcome(journal.append(id, [commitAt(1, 'b')], idleHead))).toBe('storage_failed');
      expect(await outcome(journal.snapshots.put(snapshotOf('s', 1)))).toBe('storage_failed');
      await journal.close();
      expect(await namesIn(directory)).toEqual(found);
    });
  });

  test('that is put back in its place continues', async () => {
    await inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'journal');
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id));
      await rename(directory, aside(directory));
      expect(await outcome(journal.append(id, [commitAt(0, 'a')], idleHead))).toBe('storage_failed');
      await rename(aside(directory), directory);
      expect(await must(journal.append(id, [commitAt(0, 'a')], idleHead))).toBe(1);
      await journal.close();
      expect(await readIds(await must(openLevelJournal(directory)), id)).toEqual(['a']);
    });
  });

  test.each(['LOCK', 'log'])('without its %s refuses every write', async (kind) => {
    await inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id));
      const log = (await readdir(directory)).find((name) => name.endsWith('.log')) ?? '';
      await rm(join(directory, kind === 'log' ? log : kind));
      for (let attempt = 0; attempt < 2; attempt += 1) {
        const { code, message } = await refusal(journal.append(id, [commitAt(0, 'a')], idleHead));
        expect([code, message]).toEqual(['storage_failed', expect.stringContaining(kind)]);
      }
      await journal.close();
    });
  });

  test('that is lost during a write does not acknowledge it', async () => {
    await inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'journal');
      let during = async (): Promise<void> => undefined;
      const anchor = { held: null as ReturnType<typeof anchorDirectory> | null };
      const open = async (): Promise<ReturnType<typeof anchorStore>> => {
        const loss = anchor.held?.lost() ?? null;
        if (loss !== null) throw new Error(loss);
        const store = await openLevelStore(directory);
        anchor.held ??= anchorDirectory(directory);
        const slow = {
          ...store,
          write: (changes: Parameters<typeof store.write>[0]) => store.write(changes).then(during),
        };
        return anchorStore(directory, anchor.held, slow);
      };
      const journal = await must(openStoredJournal(open));
      await must(createSample(journal, id));
      during = () => rename(directory, aside(directory));
      await expect(outcome(journal.append(id, [commitAt(0, 'a')], idleHead))).rejects.toThrow('deleted or renamed');
    });
  });

  test('keeps its place when LevelDB begins another log', async () => {
    await inTemporaryDirectory(async (directory) => {
      const journal = await must(openLevelJournal(directory));
      await must(createSample(journal, id));
      const text = JSON.stringify({ event_id: 'x', more: 'x'.repeat(1_000_000) });
      for (let at = 0; at < 12; at += 1) {
        const commit = commitWith(at, [storedEvent(`e${at}`, text.replace('"x"', `"e${at}"`))]);
        expect(await must(journal.append(id, [commit], idleHead))).toBe(at + 1);
      }
      expect((await readdir(directory)).some((name) => name.endsWith('.ldb'))).toBe(true);
      await journal.close();
    });
  });
});

describe('what else is kept beside it', () => {
  test.each(Object.entries(WAYS))('refuses writes when its directory is %s', async (_name, lose) => {
    await inTemporaryDirectory(async (parent) => {
      const directory = join(parent, 'data', 'kept');
      const blobs = await must(openFileBlobs(directory));
      const ledger = await openLedgerDirectory(directory);
      const file = await ledger.create('one', new Uint8Array(1));
      const epochs = openFileEpochs(join(directory, 'epochs'));
      expect(await epochs.reserve(5)).toBe(1);
      await must(blobs.put(new Uint8Array([1])));
      await lose(directory);
      const found = await namesIn(directory);
      expect(await outcome(blobs.put(new Uint8Array([2])))).toBe('storage_failed');
      expect(await outcome(blobs.put(new Uint8Array([1])))).toBe('storage_failed');
      expect(await outcome(blobs.probe())).toBe('storage_failed');
      await expect(file.append(new Uint8Array(1))).rejects.toThrow('no longer in its place');
      await expect(file.sync()).rejects.toThrow('no longer in its place');
      await expect(ledger.create('two', new Uint8Array(1))).rejects.toThrow('no longer in its place');
      await expect(epochs.reserve(5)).rejects.toThrow('put the original back');
      expect(await namesIn(directory)).toEqual(found);
      await file.close();
      await blobs.close();
    });
  });

  test('blobs make the directory of unfinished writes again when a program has removed it', async () => {
    await inTemporaryDirectory(async (directory) => {
      const blobs = await must(openFileBlobs(directory));
      await rm(join(directory, 'tmp'), { recursive: true });
      const ref = await must(blobs.put(new Uint8Array([1])));
      expect(await must(blobs.get(ref))).toEqual(Buffer.from([1]));
      expect(await outcome(blobs.probe())).toBe('done');
      await blobs.close();
    });
  });

  test('a ledger whose file was replaced is not appended to', async () => {
    await inTemporaryDirectory(async (directory) => {
      const ledger = await openLedgerDirectory(directory);
      const file = await ledger.create('one', new Uint8Array(1));
      await rm(join(directory, 'one'));
      await writeFile(join(directory, 'one'), 'other');
      await expect(file.append(new Uint8Array(1))).rejects.toThrow('replaced by another');
      await file.close();
      expect((await stat(join(directory, 'one'))).size).toBe('other'.length);
    });
  });
});
