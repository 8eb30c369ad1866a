// A journal of layout 1 is converted when it is opened, completely or not at all, and keeps its content.
import { cp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SessionId } from '../../../schemas/ids.ts';
import { reject } from '../../../schemas/rejection.ts';
import { must } from '../../../src/client/must.ts';
import type { JournalRecord } from '../../../src/journal/journal.ts';
import { type LevelJournal, openLevelJournal } from '../../../src/journal/level-journal.ts';
import { Refusal } from '../../../src/journal/refusal.ts';
import { openEngine } from '../../../src/engine/engine.ts';
import { Talk, packageOf } from '../../support/engine/world.ts';
import { openLayout1 } from '../../support/journal/layout-1-writer.ts';
import { liveTables, storedFiles } from '../../support/journal/many-tables.ts';
import { outcome, refusal } from '../../support/journal/outcomes.ts';
import { eventId, position, readAll, recordOf, session, snapshotOf, version } from '../../support/journal/samples.ts';
import { inTemporaryDirectory } from '../../support/journal/temporary-directory.ts';
import { randomFrom, roundsOf } from '../../support/random.ts';
import { FREE } from '../../support/tools.ts';

type Streams = ReadonlyMap<SessionId, readonly JournalRecord[]>;

const TURNS = roundsOf(6);

const owes = (index: number): boolean => index % 2 === 0;

/** Writes several sessions in several openings, so that there are tables and a log; one session has no events. */
async function writeLayout1(directory: string, openings = 3): Promise<Streams> {
  const random = randomFrom(4);
  const versions = new Map<SessionId, number>();
  const streams = new Map<SessionId, JournalRecord[]>();
  for (let opening = 0; opening < openings; opening += 1) {
    const writer = await openLayout1(directory, versions);
    for (let n = 0; n < 6; n += 1) {
      const id = session(['a', 'a.b', 'a-', 'B', 'empty', 'long'][n] ?? '');
      if (opening === 0) {
        await writer.create(id, `genesis of ${id}`);
        streams.set(id, []);
      }
      const records = streams.get(id) ?? [];
      for (let count = id === 'empty' ? 0 : id === 'long' ? 70 : 1 + random.below(5); count > 0;) {
        const size = Math.min(count, 1 + random.below(9));
        const added = Array.from({ length: size }, (_, index) => {
          const name = `${id}-${records.length + index}`;
          return index % 4 === 3 ? recordOf(name, '{}') : recordOf(name);
        });
        records.push(...added);
        count -= size;
        await writer.append(id, added, owes(n));
      }
    }
    await writer.close();
  }
  return streams;
}

async function expectStreams(journal: LevelJournal, streams: Streams): Promise<void> {
  for (const [id, records] of streams) {
    expect(await must(journal.genesis(id))).toBe(`genesis of ${id}`);
    expect(await readAll(journal, id, 7)).toEqual(records);
    for (const [at, { event_id }] of records.entries()) expect(await must(journal.find(id, event_id))).toBe(at);
    expect(await must(journal.find(id, eventId('none')))).toBeNull();
  }
  const heads = [...streams].map(([session_id, records]) => ({ session_id, version: records.length }));
  expect((await must(journal.sessions())).map(({ session_id, version: at }) => ({ session_id, version: at }))).toEqual(
    heads.sort((a, b) => (a.session_id < b.session_id ? -1 : 1)),
  );
}

describe('a journal of layout 1', () => {
  test('is converted when it is opened, and accepts appends', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const streams = new Map(await writeLayout1(path));
      const messages: string[] = [];
      const journal = await must(openLevelJournal(path, { tell: (message) => messages.push(message) }));
      expect(messages).toContain('the journal has an older layout; converting it');
      await expectStreams(journal, streams);
      expect(journal.damage).toBeNull();
      expect((await must(journal.sessions())).map(({ owing }) => owing)).toEqual([
        false,
        true,
        true,
        false,
        false,
        false,
      ]);
      const a = session('a');
      const before = streams.get(a) ?? [];
      expect(await outcome(journal.append(a, version(before.length), before.slice(0, 1), false))).toBe(
        'version_conflict',
      );
      const added = [recordOf('new-1'), recordOf('new-2'), recordOf('new-3')];
      await must(journal.append(a, version(before.length), added, false));
      await must(journal.create(session('new'), 'genesis of new'));
      streams.set(a, [...before, ...added]).set(session('new'), []);
      await journal.close();
      const again = await must(openLevelJournal(path, { tell: (message) => messages.push(message) }));
      await expectStreams(again, streams);
      expect(again.notices).toEqual([]);
      expect(messages).toHaveLength(1);
      // The journal of layout 1 is kept, under a name that does not suggest damage.
      expect((await readdir(directory)).sort()).toEqual(['journal', 'journal.converted-1', 'journal.salvage']);
      await again.close();
    }));

  test('written by an engine is loaded and verified by an engine, which appends to it', () =>
    inTemporaryDirectory(async (directory) => {
      const [made, older] = [join(directory, 'made'), join(directory, 'older')];
      const id = session('s');
      const engine = await must(openEngine({ dataDir: made }));
      const talk = new Talk(engine.client, id);
      await talk.create(packageOf([FREE]));
      await talk.run();
      const before = await must(engine.client.session(id));
      await engine.close();
      await cp(made, older, { recursive: true });
      await rm(join(older, 'journal'), { recursive: true });
      const journal = await must(openLevelJournal(join(made, 'journal')));
      const writer = await openLayout1(join(older, 'journal'), new Map());
      await writer.create(id, await must(journal.genesis(id)));
      await writer.append(id, await readAll(journal, id), (await must(journal.head(id))).owing);
      await writer.close();
      await journal.close();
      // Loading verifies every digest and the chain.
      const again = await must(openEngine({ dataDir: older }));
      expect(await must(again.client.session(id))).toEqual(before);
      await new Talk(again.client, id).submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
      const records = await must(again.client.records(id));
      const events = records.flatMap((record) => (record.kind === 'event' ? [record.event.kind] : []));
      expect(events).toEqual(['RunRequested', 'RunPaused']);
      await again.close();
    }));

  test('keeps its snapshots', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await writeLayout1(path, 1);
      const empty = await must(openLevelJournal(join(directory, 'other')));
      await must(empty.create(session('a'), '{}'));
      await must(empty.snapshots.put(snapshotOf('a', 1)));
      await empty.close();
      await cp(join(directory, 'other', 'snapshots'), join(path, 'snapshots'), { recursive: true });
      const journal = await must(openLevelJournal(path));
      expect(await must(journal.snapshots.get(session('a'), version(1)))).toEqual(snapshotOf('a', 1));
      await journal.close();
    }));

  test('is completely of one layout, at whichever step the conversion is killed or fails', { timeout: 60_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      const home = join(directory, 'home');
      const streams = await writeLayout1(join(home, 'journal'), 2);
      const steps: string[] = [];
      const onStep = async (step: string): Promise<void> => {
        await cp(home, join(directory, `killed-${steps.length}`), { recursive: true });
        await cp(home, join(directory, `failed-${steps.length}`), { recursive: true });
        steps.push(step);
      };
      await (await must(openLevelJournal(join(home, 'journal'), { onStep }))).close();
      expect(steps.length).toBeGreaterThan(5);
      for (const [k] of steps.entries()) {
        const killed = await must(openLevelJournal(join(directory, `killed-${k}`, 'journal')));
        await expectStreams(killed, streams);
        await killed.close();
        const path = join(directory, `failed-${k}`, 'journal');
        let failed = false;
        const failing = await outcome(
          openLevelJournal(path, {
            onStep: () => {
              if (failed) return Promise.resolve();
              failed = true;
              throw new Refusal(reject('storage_full', '', 'No space left on device'));
            },
          }),
        );
        expect(failing).toBe('storage_full');
        const opened = await must(openLevelJournal(path));
        await expectStreams(opened, streams);
        await opened.close();
      }
    }),
  );

  test(
    'with a damaged table is rebuilt and converted together, and names the damaged sessions',
    { timeout: 60_000 },
    () =>
      inTemporaryDirectory(async (directory) => {
        const counts = { right: 0, damaged: 0 };
        for (let turn = 0; turn < TURNS; turn += 1) {
          const path = join(directory, `${turn}`, 'journal');
          const streams = await writeLayout1(path, 4);
          const tables = await liveTables(path);
          const { name, size } = tables[turn % tables.length] ?? { name: '', size: 0 };
          const bytes = await readFile(join(path, name));
          const at = Math.floor((size * ((turn % 12) + 1)) / 16);
          bytes[at] = (bytes[at] ?? 0) ^ 4;
          await writeFile(join(path, name), bytes);
          const journal = await must(openLevelJournal(path));
          for (const [id, records] of streams) {
            const { length } = records;
            if ((await outcome(journal.head(id))) === 'done') {
              counts.right += 1;
              expect(await readAll(journal, id)).toEqual(records);
              expect(await outcome(journal.append(id, version(length), [recordOf('more')], false))).toBe('done');
            } else {
              counts.damaged += 1;
              const { message } = await refusal(journal.read(id, position(0), 1));
              expect(Number(/positions? (?:from )?(-?\d+)/.exec(message)?.[1])).toBeLessThanOrEqual(length);
            }
          }
          await journal.close();
        }
        process.stdout.write(`damaged tables of layout 1: ${JSON.stringify(counts)}\n`);
        expect(counts.right).toBeGreaterThan(TURNS / 2);
        expect(counts.damaged).toBeGreaterThan(TURNS / 2);
      }),
  );

  test('with a damaged log is refused and unchanged: its commits do not name the sessions of earlier ones', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      await writeLayout1(path);
      const [log] = await storedFiles(path, /\.log$/);
      const bytes = await readFile(join(path, log?.name ?? ''));
      bytes[200] = (bytes[200] ?? 0) ^ 4;
      await writeFile(join(path, log?.name ?? ''), bytes);
      const { code, message } = await refusal(openLevelJournal(path));
      expect(code).toBe('damaged');
      expect(message).toContain('cannot tell which sessions lost writes');
      expect(await readFile(join(path, log?.name ?? ''))).toEqual(bytes);
    }));

  test('without its manifest is converted from its tables and logs', () =>
    inTemporaryDirectory(async (directory) => {
      const path = join(directory, 'journal');
      const streams = await writeLayout1(path);
      for (const name of await readdir(path)) if (name.startsWith('MANIFEST')) await rm(join(path, name));
      const journal = await must(openLevelJournal(path));
      await expectStreams(journal, streams);
      expect(journal.damage?.sessions.size).toBe(0);
      await journal.close();
    }));
});
