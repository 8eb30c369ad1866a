// What a file says of its own end is no end: until the reader has come to it, no verdict is good, and what was checked is
// found where it was read.
import { expect, test } from 'vitest';
import type { StreamRecord } from '../../schemas/record.ts';
import { Stopped } from '../../inspector/folding/slices.ts';
import { type StreamFold, newStreamFold } from '../../inspector/folding/stream-fold.ts';
import { eventAt } from '../../inspector/folding/rows.ts';
import { verdictsOf } from '../../inspector/folding/verdicts.ts';
import { newFileSource } from '../../inspector/records/file-source.ts';
import type { RecordSource } from '../../inspector/records/record-source.ts';
import { linesOf, recordsOf } from '../audit/records.ts';
import { session } from '../support/session.ts';

const records = recordsOf(
  session({ session_id: 'claims' })
    .runRequested()
    .answered('one')
    .runRequested()
    .answered('two')
    .runRequested()
    .answered('three')
    .runRequested()
    .answered('four'),
);
const EVENTS = records.length - 2;
/** How many records are read before the reader is held up. */
const READ = 6;
const CHECKED = READ - 2;

interface Held {
  readonly fold: StreamFold;
  readonly claimed: number | null;
  readonly goOn: (error?: Error) => Promise<void>;
}

/** A fold of a file that has read its first records, and reads the others when it is let go on. */
async function heldFold(text: string): Promise<Held> {
  const file: RecordSource = newFileSource('file', 'claims', new Blob([text]));
  let release = (_error?: Error): void => undefined;
  const released = new Promise<void>(
    (resolve, reject) => (release = (error) => (error === undefined ? resolve() : reject(error))),
  );
  let isThere = (): void => undefined;
  const there = new Promise<void>((resolve) => (isThere = resolve));
  async function* held(): AsyncGenerator<readonly StreamRecord[], void> {
    let count = 0;
    for await (const some of file.records()) {
      for (const record of some) {
        if (count === READ) {
          isThere();
          await released;
        }
        count += 1;
        yield [record];
      }
    }
  }
  const fold = newStreamFold({ ...file, records: held });
  const ran = fold.run();
  await there;
  return {
    fold,
    claimed: await file.total(),
    async goOn(error) {
      release(error);
      await ran;
    },
  };
}

const [, genesis, first] = records as [StreamRecord, StreamRecord, StreamRecord];
const last = records[CHECKED + 1] as StreamRecord;

test.each([
  ['the genesis record', genesis, 0, null],
  ['the first commit', first, 1, null],
  ['the commit that was read last', last, CHECKED, CHECKED],
])('a last line that is %s again makes no verdict good before the end', async (_what, line, claimed, total) => {
  const held = await heldFold(linesOf([...records, line]));
  expect(held.claimed).toBe(claimed);
  const { fold } = held;
  expect(fold.progress()).toEqual({ read: CHECKED, folded: CHECKED, total, done: false });
  expect(verdictsOf(fold, null, null)).toMatchObject({
    chain: { state: 'checking', checked: CHECKED, total },
    fold: { state: 'checking', checked: CHECKED, total },
  });
  await held.goOn();
  expect(verdictsOf(fold, null, null)).toMatchObject({
    chain: { state: 'bad', checked: EVENTS },
    fold: { state: 'bad', checked: EVENTS },
  });
});

test('a reader that is stopped has no good verdict', async () => {
  const held = await heldFold(linesOf(records));
  await held.goOn(new Stopped());
  expect(verdictsOf(held.fold, null, null)).toMatchObject({
    chain: { state: 'checking', checked: CHECKED },
    fold: { state: 'checking', checked: CHECKED },
  });
});

test('a later line that claims the position of a checked event is not shown as checked', async () => {
  const at = CHECKED - 2;
  const commit = records[at + 2];
  if (commit?.kind !== 'commit') return expect.fail('a commit was expected');
  const forged = { ...commit, events: commit.events.map((event) => ({ ...event, at_ms: event.at_ms + 1 })) };
  // In the middle of a long file, where a search by halves looks first.
  const far = `${' '.repeat(400_000)}\n`;
  const lines = linesOf([...records, forged]).split('\n');
  const held = await heldFold(`${lines.slice(0, -2).join('\n')}\n${far}${lines.at(-2)}\n${far}`);
  const shown = await eventAt(held.fold, at);
  expect(shown).toMatchObject({ position: at, checked: true, commit: { position: at, events: 1 } });
  expect(shown.event.text).toContain(`"at_ms": ${commit.events[0]?.at_ms},`);
  await held.goOn();
  return undefined;
});
