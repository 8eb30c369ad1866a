// What the contract of the journal says of deletions.
import { expect, test } from 'vitest';
import { must } from '../../../src/client/must.ts';
import type { Journal } from '../../../src/journal/journal.ts';
import type { WithJournal } from './journal-contract.ts';
import { outcome } from './outcomes.ts';
import {
  commitAt,
  createSample,
  eventId,
  idleHead,
  owingHead,
  position,
  readIds,
  session,
  snapshotOf,
  tombstoneOf,
  version,
} from './samples.ts';

// One id is a prefix of the other.
const [gone, kept] = [session('a'), session('a.b')];

async function fill(journal: Journal): Promise<void> {
  for (const id of [gone, kept]) {
    await must(createSample(journal, id));
    await must(journal.append(id, [commitAt(0, 'e1', 'e2'), commitAt(2, 'e3')], owingHead));
    await must(journal.snapshots.put(snapshotOf(id, 3)));
  }
}

async function checkGone(journal: Journal): Promise<void> {
  const asked = [
    journal.genesis(gone),
    journal.head(gone),
    journal.read(gone, position(0), 10),
    journal.find(gone, eventId('e1')),
    journal.restate(gone, version(3), idleHead),
    journal.append(gone, [commitAt(3, 'e4')], idleHead),
    journal.append(gone, [commitAt(0, 'e1')], idleHead),
    createSample(journal, gone),
    journal.delete(tombstoneOf(gone, 3)),
  ];
  for (const request of asked) expect(await outcome(request)).toBe('session_deleted');
  expect(await must(journal.snapshots.versions(gone))).toEqual([]);
  expect(await must(journal.tombstones(null, 10))).toEqual([tombstoneOf(gone, 3)]);
  const listed = async (request: object): Promise<readonly string[]> =>
    (await must(journal.sessions({ limit: 10, ...request }))).sessions.map(({ session_id }) => session_id);
  expect(await listed({})).toEqual([kept]);
  expect(await listed({ owing: true })).toEqual([kept]);
  const due = await must(journal.due(Number.MAX_SAFE_INTEGER, 10));
  expect(due.map(({ session_id }) => session_id)).toEqual([kept]);
  expect(await readIds(journal, kept)).toEqual(['e1', 'e2', 'e3']);
  expect(await must(journal.find(kept, eventId('e2')))).toBe(1);
  expect(await must(journal.snapshots.versions(kept))).toEqual([3]);
}

export function deletionTests(withJournal: WithJournal): void {
  test(
    'leaves the tombstone, and nothing else of the session, and nothing else is changed',
    withJournal(async ({ journal, reopen }) => {
      await fill(journal);
      await must(journal.delete(tombstoneOf(gone, 3)));
      await checkGone(journal);
      const again = await reopen();
      await checkGone(again);
      expect(await must(again.append(kept, [commitAt(3, 'e4')], idleHead))).toBe(4);
      await must(createSample(again, session('a-')));
    }),
  );

  test(
    'is refused for a session that is at another version, or does not exist',
    withJournal(async ({ journal }) => {
      await fill(journal);
      for (const at of [2, 4]) expect(await outcome(journal.delete(tombstoneOf(gone, at)))).toBe('version_conflict');
      expect(await outcome(journal.delete(tombstoneOf(session('none'), 0)))).toBe('unknown_session');
      expect(await readIds(journal, gone)).toEqual(['e1', 'e2', 'e3']);
      expect(await must(journal.tombstones(null, 10))).toEqual([]);
    }),
  );

  test(
    'in one group with other writes takes effect in their order',
    withJournal(async ({ journal, reopen }) => {
      await fill(journal);
      const answers = await Promise.all([
        outcome(journal.append(gone, [commitAt(3, 'e4')], idleHead)),
        outcome(journal.delete(tombstoneOf(gone, 4))),
        outcome(journal.append(gone, [commitAt(4, 'e5')], idleHead)),
        outcome(createSample(journal, gone)),
      ]);
      expect(answers).toEqual(['done', 'done', 'session_deleted', 'session_deleted']);
      expect(await outcome((await reopen()).head(gone))).toBe('session_deleted');
    }),
  );
}
