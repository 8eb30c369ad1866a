// A rebuild keeps an incomplete copy incomplete, also when its head was lost or is older than the genesis.
import { describe, expect, test } from 'vitest';
import { must } from '../../../src/client/must.ts';
import type { Version } from '../../../schemas/ids.ts';
import { type HeadFacts, INCOMPLETE } from '../../../schemas/session-head.ts';
import { judgeSession, nothingOf } from '../../../src/journal/salvage/session-verdict.ts';
import { openBulkWriter } from '../../../src/journal/salvage/bulk-writer.ts';
import { copyJournal } from '../../../src/journal/salvage/copy-journal.ts';
import { openStoredJournal } from '../../../src/journal/stored-journal.ts';
import { makeMemoryStore } from '../../support/journal/memory-store.ts';
import { commitAt, idleHead, samplePackage, session } from '../../support/journal/samples.ts';

const ID = session('copy');
const NOTHING_LOST = { spans: [], isLogged: () => false, named: new Map(), packages: new Set([samplePackage.digest]) };
const headAt = (version: number, facts: HeadFacts) => ({ ...facts, version: version as Version });
const remains = (incomplete: boolean, head: ReturnType<typeof headAt> | null) => ({
  ...nothingOf(),
  genesis: true,
  tool_package: samplePackage.digest,
  incomplete,
  head,
  next: 2,
});

describe('a rebuild judges a copy by its genesis:', () => {
  test('incomplete, whatever is left of its head', () => {
    for (const head of [null, headAt(2, idleHead), headAt(1, { ...idleHead, owing: true }), headAt(2, INCOMPLETE)]) {
      const { head: kept, lost } = judgeSession(ID, remains(true, head), NOTHING_LOST);
      expect(kept).toMatchObject({ owing: false, wake_at_ms: null, card: { status: 'incomplete' } });
      expect(lost === null).toBe(head?.version !== (1 as Version));
    }
  });

  test('complete, with a head from before its last write: it is loaded, and its head is written anew', () => {
    const { head, lost } = judgeSession(ID, remains(false, headAt(2, INCOMPLETE)), NOTHING_LOST);
    expect([head.owing, head.card.status, lost]).toEqual([true, 'idle', null]);
  });
});

test('a rebuild reads from a stored genesis whether the copy is complete', async () => {
  const { disk, open } = makeMemoryStore();
  const journal = await must(openStoredJournal(open));
  const whole = session('whole');
  for (const id of [ID, whole]) await must(journal.create(id, '{}', samplePackage, INCOMPLETE));
  await must(journal.append(whole, [commitAt(0, 'a')], idleHead));
  await journal.close();
  const entries = [...disk].sort(([a], [b]) => (a < b ? -1 : 1));
  async function* stored() {
    for (const [key, value] of entries) yield { key: Buffer.from(key, 'latin1'), value: Buffer.from(value) };
  }
  const copied = makeMemoryStore();
  const { sessions } = await copyJournal(
    stored(),
    openBulkWriter(await copied.open(), async () => undefined),
  );
  expect([sessions.get(ID)?.incomplete, sessions.get(whole)?.incomplete]).toEqual([true, false]);
});
