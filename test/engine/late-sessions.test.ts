// A session may stand at the end of time: its head is read again all the same, and hides no other session.
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { brand, TIME_MS_MAX } from '../../schemas/ids.ts';
import { HeadFacts } from '../../schemas/session-head.ts';
import { must } from '../../src/client/must.ts';
import { headFacts } from '../../src/core/session-head.ts';
import { importStream } from '../../src/engine/sessions/import-stream.ts';
import { headKey } from '../../src/journal/keys.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import { decodeHead, encodeHead } from '../../src/journal/stored-values.ts';
import { CONSENT_PRESETS } from '../../src/toolsets/consent-presets.ts';
import { openMemoryBlobs } from '../../src/blobs/memory-blobs.ts';
import { recordStream, recordsOf } from '../support/engine/stored-stream.ts';
import { makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome } from '../support/journal/outcomes.ts';
import { createSample, idleHead } from '../support/journal/samples.ts';
import { call, session } from '../support/session.ts';

const LATE = brand<'SessionId'>('late');
const OWN = brand<'SessionId'>('own');

/** A question with so much time to answer, asked so long before the end of time. */
const asking = (beforeMs: number, ttlMs: number): ReturnType<typeof session> => {
  const consent = { ...CONSENT_PRESETS.allow_all, approval_ttl_ms: ttlMs };
  const begun = session({ session_id: LATE, consent }).runRequested();
  const observed = begun.next('ToolCallsObserved', { run_id: 'run-1', turn: 1, calls: [call('q', 'asks')] });
  return begun.taking({ ...observed, at_ms: TIME_MS_MAX - beforeMs });
};

test('its head round-trips, whatever is left of time', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 7_200_000 }), fc.integer({ min: 1_000, max: 3_600_000 }), (before, ttl) => {
      const { state } = asking(before, ttl);
      const facts = headFacts(state);
      expect(HeadFacts.is(facts)).toBe(true);
      expect(facts.wake_at_ms).toBe(Math.min(TIME_MS_MAX, TIME_MS_MAX - before + ttl));
      expect(decodeHead(encodeHead({ version: state.version, ...facts }))).toEqual({
        version: state.version,
        ...facts,
      });
    }),
  );
});

test('imported, it leaves every other session listed', async () => {
  const store = makeMemoryStore();
  const journal = await must(openStoredJournal(store.open));
  await must(createSample(journal, OWN));
  const late = asking(60_000, 3_600_000);
  const ports = { journal, blobs: openMemoryBlobs(), own_facts_at_ms: 5_000 };
  async function* records() {
    yield* recordsOf(recordStream(late, late.events));
  }
  expect(await importStream(ports, records())).toMatchObject({ _tag: 'Right' });
  const { sessions } = await must(journal.sessions({ limit: 9 }));
  expect(sessions.map(({ session_id, wake_at_ms }) => [session_id, wake_at_ms])).toEqual([
    [LATE, TIME_MS_MAX],
    [OWN, null],
  ]);
});

test('a head that cannot be read is not written, and one that is there is named in the list', async () => {
  const store = makeMemoryStore();
  const journal = await must(openStoredJournal(store.open));
  await must(createSample(journal, LATE));
  await must(createSample(journal, OWN));
  const { version } = await must(journal.head(LATE));
  expect(await outcome(journal.restate(LATE, version, { ...idleHead, wake_at_ms: TIME_MS_MAX + 1 }))).toBe('internal');
  store.disk.set(
    Buffer.from(headKey(LATE)).toString('latin1'),
    encodeHead({ version, ...idleHead, wake_at_ms: TIME_MS_MAX + 1 }),
  );
  const { sessions } = await must(journal.sessions({ limit: 9 }));
  expect(sessions.map(({ session_id, card }) => [session_id, card.title])).toEqual([
    [LATE, 'damaged: its head cannot be read'],
    [OWN, null],
  ]);
  expect(await outcome(journal.head(LATE))).toBe('damaged');
});
