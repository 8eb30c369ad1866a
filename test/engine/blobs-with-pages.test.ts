// The blobs of an engine: the contract of blobs, for the blob store with the pages of the journal, and reads that find a
// page wherever it is.
import { describe, expect, test } from 'vitest';
import type { Digest } from '../../schemas/ids.ts';
import type { Blobs } from '../../src/blobs/blobs.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { must } from '../../src/client/must.ts';
import { blobsWithPages } from '../../src/engine/blobs-with-pages.ts';
import { measureBlobs } from '../../src/engine/measured.ts';
import { newMetrics } from '../../src/engine/metrics.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { openMemoryJournal } from '../../src/journal/memory-journal.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { commitAt, createSample, idleHead, session, storedPage } from '../support/journal/samples.ts';

const NOW_MS = 1_700_000_000_000;

interface Stores {
  readonly files: Blobs;
  readonly journal: Journal;
  readonly both: Blobs;
}

/** Blobs with these texts, and a journal with these pages. */
async function storesWith(texts: readonly string[], pages: readonly string[]): Promise<Stores> {
  const [files, journal] = [openMemoryBlobs(() => NOW_MS), openMemoryJournal()];
  for (const text of texts) await must(files.put(bytesOf(text)));
  await must(createSample(journal, session('one')));
  await must(journal.append(session('one'), [commitAt(0, 'e')], idleHead, pages.map(storedPage)));
  return { files, journal, both: blobsWithPages(files, journal) };
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const refOf = (text: string): Digest => storedPage(text).digest;

async function listed(blobs: Blobs): Promise<readonly Digest[]> {
  const refs: Digest[] = [];
  for await (const ref of blobs.list()) refs.push(ref);
  return refs;
}

describe('the blobs of an engine', () => {
  test.each(['blob', 'page', 'both'])('are read in the same way from either place: a %s', async (place) => {
    const text = 'abcdefgh ü';
    const { both } = await storesWith(place === 'page' ? [] : [text], place === 'blob' ? [] : [text]);
    const ref = refOf(text);
    expect(Array.from(await must(both.get(ref)))).toEqual(Array.from(bytesOf(text)));
    expect(await must(both.has(ref))).toBe(true);
    const { bytes, head, tail } = await must(both.ends(ref, 3));
    expect([bytes, ...[head, tail].map((end) => Array.from(end))]).toEqual([
      bytesOf(text).length,
      Array.from(bytesOf(text).subarray(0, 3)),
      Array.from(bytesOf(text).subarray(-3)),
    ]);
    expect(await must(both.lastPut(ref))).toBe(place === 'page' ? 0 : NOW_MS);
    expect(await listed(both)).toEqual([ref]);
    await must(both.delete(ref));
    expect(await must(both.has(ref))).toBe(false);
    expect(await listed(both)).toEqual([]);
  });

  test('that are in neither place are unknown to every request', async () => {
    const { both } = await storesWith(['a'], ['b']);
    const ref = refOf('c');
    expect(await must(both.has(ref))).toBe(false);
    for (const asked of [both.get(ref), both.ends(ref, 1), both.lastPut(ref), both.delete(ref)]) {
      expect(await outcome(asked)).toBe('unknown_blob');
    }
  });

  test('are listed in order, each once', async () => {
    const texts = Array.from({ length: 200 }, (_, n) => `text ${n}`);
    const { both } = await storesWith(texts.slice(0, 120), texts.slice(80));
    expect(await listed(both)).toEqual(texts.map(refOf).sort());
  });

  test('are refused as damaged when a page does not have its digest, until its bytes are put again', async () => {
    const { both, files, journal } = await storesWith([], ['page']);
    const ref = refOf('page');
    const altered = blobsWithPages(files, {
      ...journal,
      page: () => async () => ({ _tag: 'Right', right: bytesOf('Page') }),
    });
    const { code, message } = await refusal(altered.get(ref));
    expect(code).toBe('damaged');
    expect(message).toContain('put the same bytes again');
    await must(altered.put(bytesOf('page')));
    for (const blobs of [altered, both])
      expect(Array.from(await must(blobs.get(ref)))).toEqual(Array.from(bytesOf('page')));
  });

  test('say why a page cannot be read', async () => {
    const { both, journal } = await storesWith([], ['page']);
    await journal.close();
    const ref = refOf('page');
    for (const asked of [both.get(ref), both.has(ref), both.ends(ref, 1), both.lastPut(ref), both.delete(ref)]) {
      expect(await outcome(asked)).toBe('closing');
    }
    await expect(listed(both)).rejects.toThrow('closed');
  });

  test('keep what a put asks for while they are measured', async () => {
    const asked: unknown[] = [];
    const files = openMemoryBlobs();
    const measured = measureBlobs(
      { ...files, put: (bytes, options) => (asked.push(options), files.put(bytes, options)) },
      newMetrics(),
    );
    await must(measured.put(bytesOf('evidence'), { durable: false }));
    expect(asked).toEqual([{ durable: false }]);
  });
});
