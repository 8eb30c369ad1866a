// One bit is flipped anywhere in the files of a data directory: journal, snapshots, blobs. Every request then gets the
// right answer or a typed error, never a wrong answer; data that the bit does not affect is served.
import { cp, readFile, readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Either, isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { type Digest, type SessionId, brand } from '../../schemas/ids.ts';
import { SNAPSHOT_DELAY_MS, SNAPSHOT_EVERY_EVENTS } from '../../schemas/limits.ts';
import type { Rejection } from '../../schemas/rejection.ts';
import type { EngineClient } from '../../src/client/client.ts';
import { must } from '../../src/client/must.ts';
import { stateBytes } from '../../src/core/index.ts';
import { openEngine } from '../../src/engine/engine.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, Talk, packageOf } from '../support/engine/world.ts';
import { inTemporaryDirectory } from '../support/journal/temporary-directory.ts';
import { randomFrom, roundsOf } from '../support/random.ts';
import { FREE, tool } from '../support/tools.ts';

const ROUNDS = roundsOf(30, 1_000);
const LONG = brand<'SessionId'>('long');
const WORK = brand<'SessionId'>('work');
const IDLE = brand<'SessionId'>('idle');

const SESSIONS = [LONG, WORK, IDLE];

/** Everything that a client can read from a data directory, as text. */
type Answers = ReadonlyMap<string, string>;

interface Question {
  readonly name: string;
  readonly ask: (client: EngineClient) => Promise<Either<Rejection, string>>;
}

const answered = async <T>(answer: Promise<Either<Rejection, T>>, toText: (value: T) => string) => {
  const given = await answer;
  return isLeft(given) ? given : ({ _tag: 'Right', right: toText(given.right) } as const);
};

function questions(blobs: readonly Digest[]): readonly Question[] {
  const ofSession = (id: SessionId): readonly Question[] => [
    {
      name: `state of ${id}`,
      ask: (client) =>
        answered(client.session(id)(), (view) => `${Buffer.from(stateBytes(view.state)).toString()} ${view.chain}`),
    },
    { name: `records of ${id}`, ask: (client) => answered(client.records(id)(), (records) => JSON.stringify(records)) },
    {
      name: `last record of ${id}`,
      ask: (client) => answered(client.records(id, 1, 9)(), (records) => JSON.stringify(records)),
    },
  ];
  return [
    { name: 'sessions', ask: (client) => answered(client.sessions()(), ({ sessions }) => JSON.stringify(sessions)) },
    ...SESSIONS.flatMap(ofSession),
    ...blobs.map((ref) => ({
      name: `blob ${ref}`,
      ask: (client: EngineClient) => answered(client.getBlob(ref)(), (bytes) => Buffer.from(bytes).toString('hex')),
    })),
  ];
}

/** Three sessions, one of them long enough for snapshots, with blobs; written over several openings. */
async function writeData(dataDir: string): Promise<void> {
  for (let opening = 0; opening < 3; opening += 1) {
    const clock = newVirtualClock(1_000_000 * (opening + 1));
    const engine = await must(openEngine({ dataDir, clock }));
    const { client } = engine;
    const [long, work] = [new Talk(client, LONG), new Talk(client, WORK)];
    if (opening === 0) {
      // Each has its own tool package, so that a damaged one costs one session.
      for (const talk of [long, work, new Talk(client, IDLE)]) {
        await talk.create(packageOf([FREE, tool(`of_${talk.id}`)]));
      }
      await long.run();
    }
    for (let at = 0; at < SNAPSHOT_EVERY_EVENTS; at += 2) {
      await long.submit([
        { kind: 'RunPaused', run_id: 'run-1' },
        { kind: 'RunResumed', run_id: 'run-1' },
      ]);
    }
    const text = `${opening}`.repeat(6_000);
    const ref = await must(client.putBlob(new TextEncoder().encode(text)));
    const content = { ref, bytes: text.length, head: '', tail: '' };
    await work.submit([{ kind: 'RunRequested', input: content }]);
    const call = { call_id: 'c', tool_name: 'free', arguments: { long: text } };
    const run_id = `run-${opening + 1}`;
    await work.submit([{ kind: 'ToolCallsObserved', run_id, turn: 1, calls: [call] }]);
    await work.submit([{ kind: 'RunCancelled', run_id, reason: 'no' }]);
    await clock.advance(SNAPSHOT_DELAY_MS);
    await engine.close();
  }
}

async function filesOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

const kindOf = (path: string): string =>
  path.startsWith('journal/snapshots/')
    ? 'snapshot'
    : path.startsWith('blobs/')
      ? 'blob'
      : (/\.(ldb|log)$/.exec(path)?.[1] ?? path.replace(/^journal\/|-\d+$/g, ''));

async function flipBit(path: string, random: ReturnType<typeof randomFrom>): Promise<void> {
  const bytes = await readFile(path);
  if (bytes.length === 0) return;
  const at = random.below(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8));
  await writeFile(path, bytes);
}

/** How the requests ended; `others`: damaged for some sessions, right for others. */
type Ending = 'unopened' | 'refused' | 'others' | 'right';

/** The sessions that are refused as damaged, each with its position. */
async function damagedSessions(client: EngineClient): Promise<ReadonlySet<SessionId>> {
  const damaged = new Set<SessionId>();
  for (const id of SESSIONS) {
    const answer = await client.session(id)();
    if (!isLeft(answer)) continue;
    expect(answer.left.code).toBe('damaged');
    expect(answer.left.message).toMatch(new RegExp(`^session ${id}, positions? (from )?-?\\d+`));
    damaged.add(id);
  }
  return damaged;
}

interface Listed {
  readonly session_id: SessionId;
}

/** For a damaged session, a list may show at most that it exists. */
function expectList(listed: string, truth: string, damaged: ReadonlySet<SessionId>, notices: readonly string[]): void {
  const [shown, wanted] = [listed, truth].map((text) => JSON.parse(text) as readonly Listed[]);
  const whole = ({ session_id }: Listed): boolean => !damaged.has(session_id);
  expect(shown?.filter(whole)).toEqual(wanted?.filter(whole));
  // A session without events may be lost with its name: then a fault or a notice must report it.
  if (shown?.length !== wanted?.length) expect(notices.join()).toContain('gone without a trace');
}

/** Reads everything; throws on a wrong answer. */
async function askAll(dataDir: string, asked: readonly Question[], truth: Answers): Promise<Ending> {
  const opened = await openEngine({ dataDir, clock: newVirtualClock(9_000_000) })();
  if (isLeft(opened)) {
    expect(['damaged', 'storage_failed']).toContain(opened.left.code);
    return 'unopened';
  }
  const engine = opened.right;
  const { client, faults } = engine;
  const damaged = await damagedSessions(client);
  let refused = faults.length;
  for (const { name, ask } of asked) {
    const answer = await ask(client);
    if (isLeft(answer)) {
      refused += 1;
      expect(['damaged', 'unknown_blob'], `${name}: ${answer.left.code}`).toContain(answer.left.code);
    } else if (name === 'sessions') {
      expectList(answer.right, truth.get(name) ?? '[]', damaged, engine.notices);
    } else if (answer.right !== truth.get(name)) throw new Error(`wrong answer for ${name}`);
  }
  const faulty = faults.map(({ message }) => message).join();
  for (const id of SESSIONS) {
    if (damaged.has(id)) continue;
    expect(faulty).not.toContain(`session ${id},`);
    const event = { kind: 'SessionConfigured', config: { turns_max: 7 } } as const;
    expect(await new Talk(client, id).outcome(event, A)).toBe('done');
  }
  await engine.close();
  if (damaged.size > 0 && damaged.size < SESSIONS.length) return 'others';
  return refused > 0 ? 'refused' : 'right';
}

describe('a data directory with one flipped bit', () => {
  test(`gives right answers or typed errors, in ${ROUNDS} rounds`, { timeout: 1_200_000 }, () =>
    inTemporaryDirectory(async (directory) => {
      const intact = join(directory, 'intact');
      await writeData(intact);
      const files = await filesOf(intact);
      const blobs = files
        .filter((path) => kindOf(path) === 'blob')
        .map((path) => brand<'Digest'>(`sha256:${path.slice(-64)}`));
      expect(blobs).toHaveLength(6);
      const asked = questions(blobs);
      const truth = new Map<string, string>();
      // Read from a copy, because opening a journal rewrites its files.
      await cp(intact, join(directory, 'asked'), { recursive: true });
      const engine = await must(openEngine({ dataDir: join(directory, 'asked'), clock: newVirtualClock() }));
      for (const { name, ask } of asked) truth.set(name, await must(() => ask(engine.client)));
      await engine.close();
      await cp(intact, join(directory, 'none'), { recursive: true });
      expect(await askAll(join(directory, 'none'), asked, truth)).toBe('right');

      const kinds = [...new Set(files.map(kindOf))];
      expect(kinds).toEqual(expect.arrayContaining(['snapshot', 'blob', 'ldb', 'log', 'MANIFEST', 'CURRENT']));
      const endings: Record<string, Partial<Record<Ending, number>>> = {};
      for (let round = 0; round < ROUNDS; round += 1) {
        const random = randomFrom(4_000 + round);
        // Half of the rounds damage tables, where most of the data is.
        const kind = random.pick([...kinds, ...kinds.map(() => 'ldb')]);
        const file = random.pick(files.filter((path) => kindOf(path) === kind));
        const copy = join(directory, `flip-${round}`);
        await cp(intact, copy, { recursive: true });
        await flipBit(join(copy, file), random);
        const ending = await askAll(copy, asked, truth);
        const counts = (endings[kind] ??= {});
        counts[ending] = (counts[ending] ?? 0) + 1;
      }
      process.stdout.write(`flipped bits: ${JSON.stringify(endings)}\n`);
      // A damaged snapshot costs nothing but time, and a damaged blob costs only that blob.
      expect(endings['snapshot']).toEqual({ right: expect.any(Number) });
      expect(Object.keys(endings['blob'] ?? {})).toEqual(['refused']);
      // A damaged table costs only the sessions with data in it.
      expect(endings['ldb']?.unopened ?? 0).toBe(0);
      expect(endings['ldb']?.others).toBeGreaterThan(0);
    }),
  );
});
