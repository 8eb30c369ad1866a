import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { must } from '../../src/client/must.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { readAll, recordOf, session, version } from '../support/journal/samples.ts';
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
      await must(journal.create(id, '{}'));
      const kept = [];
      const unknown = new Set<string>();
      const refusals: string[] = [];
      for (let attempt = 0; refusals.length < 20; attempt += 1) {
        // Random text, which does not compress.
        const record = recordOf(`e${attempt}`, randomBytes(EVENT_BYTES / 2).toString('hex'));
        const answer = await outcome(journal.append(id, version(kept.length), [record], false));
        if (answer === 'done') kept.push(record);
        else refusals.push(answer);
        if (answer === 'storage_unknown') unknown.add(record.event_id);
      }
      expect(kept.length).toBeGreaterThan(100);
      expect(refusals.every((code) => code === 'storage_full' || code === 'storage_unknown')).toBe(true);

      await rm(reserve);
      const held = await readAll(journal, id);
      expect(held.slice(0, kept.length)).toEqual(kept);
      expect(held.slice(kept.length).every(({ event_id }) => unknown.has(event_id))).toBe(true);
      const at = (await must(journal.head(id))).version;
      expect(at).toBe(held.length);
      expect(await must(journal.append(id, at, [recordOf('after')], true))).toBe(at + 1);
      await journal.close();
      const again = await must(openLevelJournal(join(disk.directory, 'journal')));
      expect(await readAll(again, id)).toEqual([...held, recordOf('after')]);
      await again.close();
      process.stdout.write(`disk full: ${kept.length} acknowledged, then ${[...new Set(refusals)].join(' and ')}\n`);
    } finally {
      await disk.unmount();
    }
  });
});
