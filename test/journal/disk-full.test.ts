import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { outcome } from '../support/journal/outcomes.ts';
import {
  commitAt,
  commitWith,
  createSample,
  idleHead,
  idsIn,
  owingHead,
  readAll,
  session,
  storedEvent,
} from '../support/journal/samples.ts';
import { mountSmallDisk } from '../support/journal/small-disk.ts';

const DISK = '12m';
const RESERVE_BYTES = 5 * 1_048_576;
const EVENT_BYTES = 6_000;

describe('a journal on a full disk', () => {
  test('refuses appends, keeps every acknowledged event, and accepts appends once there is space', async (context) => {
    const disk = await mountSmallDisk(DISK);
    if ('reason' in disk) {
      process.stdout.write(`disk full: not run, ${disk.reason}\n`);
      context.skip(disk.reason);
      return;
    }
    try {
      const reserve = join(disk.directory, 'reserve');
      await writeFile(reserve, randomBytes(RESERVE_BYTES));
      const journal = await must(openLevelJournal(join(disk.directory, 'journal')));
      const id = session('s');
      await must(createSample(journal, id));
      const kept = [];
      const unknown = new Set<string>();
      const refusals: string[] = [];
      for (let attempt = 0; refusals.length < 20; attempt += 1) {
        // Random text, which does not compress.
        const event = storedEvent(`e${attempt}`, randomBytes(EVENT_BYTES / 2).toString('hex'));
        const commit = commitWith(kept.length, [event]);
        const answer = await outcome(journal.append(id, [commit], idleHead));
        if (answer === 'done') kept.push(commit);
        else refusals.push(answer);
        if (answer === 'storage_unknown') unknown.add(event.event_id);
      }
      expect(kept.length).toBeGreaterThan(100);
      expect(refusals.every((code) => code === 'storage_full' || code === 'storage_unknown')).toBe(true);

      await rm(reserve);
      const held = await readAll(journal, id);
      expect(held.slice(0, kept.length)).toEqual(kept);
      expect(idsIn(held.slice(kept.length)).every((event) => unknown.has(event))).toBe(true);
      const at = (await must(journal.head(id))).version;
      expect(at).toBe(held.length);
      expect(await must(journal.append(id, [commitAt(at, 'after')], owingHead))).toBe(at + 1);
      await journal.close();
      const again = await must(openLevelJournal(join(disk.directory, 'journal')));
      expect(await readAll(again, id)).toEqual([...held, commitAt(held.length, 'after')]);
      await again.close();
      process.stdout.write(`disk full: ${kept.length} acknowledged, then ${[...new Set(refusals)].join(' and ')}\n`);
    } finally {
      await disk.unmount();
    }
  });
});
