// A journal of another layout is refused and not changed; one of an older layout was made before 0.2.
import { Buffer } from 'node:buffer';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LAYOUT, META_KEY } from '../../src/journal/keys.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { openLevelJournal } from '../../src/journal/level-journal.ts';
import { Refusal } from '../../src/journal/refusal.ts';
import { openBulkWriter } from '../../src/journal/salvage/bulk-writer.ts';
import { copyJournal } from '../../src/journal/salvage/copy-journal.ts';
import { refusal } from '../support/journal/outcomes.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';

/** The layout record of a journal with three sessions. */
const metaOf = (layout: number): Buffer => Buffer.of(0x82, layout, 3);

test.each([
  [1, 'outdated', 'was made before 0.2; start a new directory'],
  [2, 'outdated', 'was made before 0.2; start a new directory'],
  [4, 'storage_failed', `has layout 4; this engine reads layout ${LAYOUT} only; use the refold version that wrote it`],
])('a journal of layout %i is refused as %s, with its directory', (layout, code, says) =>
  inTemporaryDirectory(async (home) => {
    const directory = join(home, 'journal');
    const store = await openLevelStore(directory);
    await store.write([{ key: META_KEY, value: metaOf(layout) }]);
    await store.close();
    const expected = { code, path: '', message: `the journal in ${directory} ${says}` };
    expect(await refusal(openLevelJournal(directory))).toEqual(expected);
    expect(await refusal(openLevelJournal(directory))).toEqual(expected);
    const after = await openLevelStore(directory);
    expect(Buffer.from((await after.view((view) => view.get(META_KEY))) ?? [])).toEqual(metaOf(layout));
    await after.close();
  }),
);

test('a damaged journal of an older layout is refused, not rebuilt', () =>
  inTemporaryDirectory(async (directory) => {
    const store = await openLevelStore(directory);
    const writes = openBulkWriter(store, () => Promise.resolve());
    async function* entries(): AsyncGenerator<{ readonly key: Buffer; readonly value: Buffer }> {
      yield await Promise.resolve({ key: Buffer.from(META_KEY), value: metaOf(2) });
    }
    const refused: unknown = await copyJournal(entries(), writes).catch((error: unknown) => error);
    await store.close();
    expect(refused).toBeInstanceOf(Refusal);
    expect((refused as Refusal).rejection).toMatchObject({ code: 'outdated' });
  }));
