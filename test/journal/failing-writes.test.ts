// Makes each write of a scenario fail in turn, in every way a write can fail.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { RejectionCode } from '../../schemas/rejection.ts';
import { must } from '../../src/client/must.ts';
import type { Journal } from '../../src/journal/journal.ts';
import { openLevelStore } from '../../src/journal/level/store.ts';
import { refuse } from '../../src/journal/refusal.ts';
import { openStoredJournal } from '../../src/journal/stored-journal.ts';
import type { OpenStore } from '../../src/journal/store.ts';
import { type Faults, type WriteFault, makeMemoryStore } from '../support/journal/memory-store.ts';
import { outcome } from '../support/journal/outcomes.ts';
import {
  commitAt,
  createSample,
  eventId,
  idleHead,
  owingHead,
  readIds,
  samplePackage,
  session,
  version,
} from '../support/journal/samples.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';
import { roundsOf } from '../support/random.ts';

const SESSIONS = ['a', 'b', 'c'].map(session);
const ROUNDS = 4;

interface Appended {
  readonly id: (typeof SESSIONS)[number];
  readonly events: readonly string[];
  readonly answer: RejectionCode | 'done';
}

/** Creates the sessions and appends to all of them at once, round by round; returns the answers. */
async function runScenario(journal: Journal): Promise<readonly Appended[]> {
  const appended: Appended[] = [];
  for (const id of SESSIONS) await outcome(createSample(journal, id));
  for (let round = 0; round < ROUNDS; round += 1) {
    const appends = SESSIONS.map(async (id): Promise<Appended> => {
      const head = await journal.head(id)();
      const at = head._tag === 'Right' ? head.right.version : version(0);
      const events = [0, 1, 2].map((n) => `${id}-${round}-${n}`);
      const commits = [commitAt(at, ...events.slice(0, 2)), commitAt(at + 2, ...events.slice(2))];
      return { id, events, answer: await outcome(journal.append(id, commits, idleHead)) };
    });
    appended.push(...(await Promise.all(appends)));
  }
  return appended;
}

/** How many of the three events of an append, in two commits, the stream may hold, by the answer to the append. */
const ALLOWED: { readonly [answer: string]: readonly number[] } = {
  done: [3],
  storage_failed: [0],
  storage_unknown: [0, 3],
  unknown_session: [0],
  // Reading the version failed before.
  version_conflict: [0],
};

/** Expects that acknowledged events are stored, refused ones are not, and that every stored event can be looked up. */
async function checkHonesty(journal: Journal, appended: readonly Appended[]): Promise<void> {
  const streams = new Map<string, readonly string[]>();
  for (const id of SESSIONS) {
    const exists = (await outcome(journal.head(id))) === 'done';
    streams.set(id, exists ? await readIds(journal, id) : []);
    // The package is stored with the first session that was created, whichever that is.
    if (exists) expect(await must(journal.toolPackage(samplePackage.digest))).toBe(samplePackage.text);
  }
  for (const { id, events, answer } of appended) {
    const held = events.filter((event) => streams.get(id)?.includes(event));
    const allowed = ALLOWED[answer] ?? [];
    expect(allowed, `${answer}: ${held.length} of ${events.length} events`).toContain(held.length);
  }
  for (const [id, ids] of streams) {
    for (const [index, event] of ids.entries())
      expect(await must(journal.find(session(id), eventId(event)))).toBe(index);
  }
}

/** Expects that the journal accepts writes again, each exactly once. */
async function checkUsable(journal: Journal): Promise<void> {
  for (const id of SESSIONS) {
    expect(['done', 'session_exists']).toContain(await outcome(createSample(journal, id)));
    const { version: at } = await must(journal.head(id));
    expect(await must(journal.append(id, [commitAt(at, 'after-1', 'after-2')], owingHead))).toBe(at + 2);
    expect((await readIds(journal, id)).slice(at)).toEqual(['after-1', 'after-2']);
    expect(await must(journal.head(id))).toEqual({ session_id: id, version: at + 2, ...owingHead });
  }
  expect((await must(journal.sessions({ limit: 1_000 }))).sessions).toHaveLength(SESSIONS.length);
}

async function checkScenario(faults: Faults): Promise<readonly Appended[]> {
  const disk = { faulty: true };
  const store = makeMemoryStore({
    write: (nth) => (disk.faulty ? (faults.write?.(nth) ?? null) : null),
    open: (nth) => disk.faulty && faults.open?.(nth) === true,
  });
  const journal = await must(openStoredJournal(store.open));
  const appended = await runScenario(journal);
  disk.faulty = false;
  await checkHonesty(journal, appended);
  await checkUsable(journal);
  await journal.close();
  const again = await must(openStoredJournal(store.open));
  await checkHonesty(again, appended);
  await again.close();
  return appended;
}

async function countWrites(): Promise<number> {
  const store = makeMemoryStore();
  const journal = await must(openStoredJournal(store.open));
  const appended = await runScenario(journal);
  expect(appended.every(({ answer }) => answer === 'done')).toBe(true);
  await journal.close();
  return store.writes();
}

describe('a journal whose writes fail', () => {
  test('reports a write that did not reach the disk, and accepts later writes', async () => {
    const writes = await countWrites();
    for (let k = 1; k <= writes; k += 1) {
      const appended = await checkScenario({ write: (nth) => (nth === k ? 'lost' : null) });
      expect(appended.some(({ answer }) => answer !== 'done')).toBe(true);
    }
  });

  test('acknowledges a write that reached the disk although the store reported a failure', async () => {
    const writes = await countWrites();
    for (let k = 1; k <= writes; k += 1) {
      const appended = await checkScenario({ write: (nth) => (nth === k ? 'applied' : null) });
      expect(appended.every(({ answer }) => answer === 'done')).toBe(true);
    }
  });

  test.each<WriteFault>(['lost', 'applied'])(
    'answers storage_unknown when it cannot look the write up (%s)',
    async (fault) => {
      expect.hasAssertions();
      const writes = await countWrites();
      // The first writes create the sessions; their unknown outcome belongs to the creations.
      for (let k = SESSIONS.length + 1; k <= writes; k += 1) {
        // The opening right after the failed write fails too; the next request opens the store successfully.
        const appended = await checkScenario({
          write: (nth) => (nth === k ? fault : null),
          open: (nth) => nth === 2,
        });
        expect(appended.some(({ answer }) => answer === 'storage_unknown')).toBe(true);
      }
    },
  );

  test('answers truthfully through any sequence of faults', async () => {
    expect.hasAssertions();
    const anyFault = fc.option(fc.constantFrom<WriteFault>('lost', 'applied'), { freq: 2 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyFault, { maxLength: 10 }),
        fc.array(fc.boolean(), { maxLength: 6 }),
        async (writes, openings) => {
          await checkScenario({
            write: (nth) => writes[nth - 1] ?? null,
            open: (nth) => nth > 1 && openings[nth - 2] === true,
          });
        },
      ),
      { numRuns: roundsOf(18, 600) },
    );
  });

  test('reports both racing appends as failed when the write of the first one fails', async () => {
    const store = makeMemoryStore({ write: (nth) => (nth === 2 ? 'lost' : null) });
    const journal = await must(openStoredJournal(store.open));
    const id = session('s');
    await must(createSample(journal, id));
    const racers = ['a', 'b'].map((event) => outcome(journal.append(id, [commitAt(0, event)], idleHead)));
    // Neither is recorded, so a version conflict would be a false answer.
    expect(await Promise.all(racers)).toEqual(['storage_failed', 'storage_failed']);
    expect(await must(journal.append(id, [commitAt(0, 'a')], idleHead))).toBe(1);
    await journal.close();
  });

  test('refuses all requests while the store cannot be opened, and serves them once it can', async () => {
    const store = makeMemoryStore({
      write: (nth) => (nth === 2 ? 'applied' : null),
      open: (nth) => nth >= 2 && nth <= 5,
    });
    const journal = await must(openStoredJournal(store.open));
    const id = session('s');
    await must(createSample(journal, id));
    expect(await outcome(journal.append(id, [commitAt(0, 'e')], owingHead))).toBe('storage_unknown');
    expect(await outcome(journal.head(id))).toBe('storage_failed');
    expect(await outcome(journal.append(id, [commitAt(0, 'f')], owingHead))).toBe('storage_failed');
    expect(await outcome(journal.sessions({ limit: 1_000 }))).toBe('storage_failed');
    expect(await must(journal.find(id, eventId('e')))).toBe(0);
    expect(await must(journal.append(id, [commitAt(1, 'f')], owingHead))).toBe(2);
    await journal.close();
  });
});

describe('LevelDB with failing writes', () => {
  /** LevelDB whose n-th write fails before or after it is written. */
  const faultyLevel = (directory: string, fault: (nth: number) => WriteFault | null): OpenStore => {
    let writes = 0;
    return async () => {
      const store = await openLevelStore(directory);
      return {
        ...store,
        write: async (puts) => {
          writes += 1;
          const found = fault(writes);
          if (found !== 'lost') await store.write(puts);
          if (found !== null) refuse('storage_failed', 'the write was made to fail');
        },
      };
    };
  };

  test.each<WriteFault>(['lost', 'applied'])('is reopened while readers use it, for every k (%s)', async (fault) => {
    expect.hasAssertions();
    const writes = await countWrites();
    for (let k = 1; k <= writes; k += 1) {
      await inTemporaryDirectory(async (directory) => {
        const open = faultyLevel(directory, (nth) => (nth === k ? fault : null));
        const journal = await must(openStoredJournal(open));
        const reading = { on: true };
        const reader = (async () => {
          while (reading.on) expect(['done', 'unknown_session']).toContain(await outcome(journal.head(session('a'))));
        })();
        const appended = await runScenario(journal);
        await checkHonesty(journal, appended);
        await checkUsable(journal);
        reading.on = false;
        await reader;
        await journal.close();
      });
    }
  });
});
