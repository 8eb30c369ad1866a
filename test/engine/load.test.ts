// No store is trusted: a record that does not verify is `damaged`, with session and position, and other sessions are
// served.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { canonicalText, digestText } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import { type Position, type SessionId, brand } from '../../schemas/ids.ts';
import { versionAfter } from '../../schemas/record.ts';
import { must } from '../../src/client/must.ts';
import { defaultGenesis, nextChain, replay } from '../../src/core/index.ts';
import { startEngine } from '../../src/engine/engine.ts';
import { loadSession } from '../../src/engine/sessions/load-session.ts';
import { neverPause } from '../../src/turns.ts';
import type { Journal, JournalCommit, JournalEvent } from '../../src/journal/journal.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, SESSION, Talk, newWorld, packageOf } from '../support/engine/world.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';
import { idleHead, readAll, storedPackage } from '../support/journal/samples.ts';
import { tool } from '../support/tools.ts';

const OTHER = brand<'SessionId'>('s-2');

/** Two sessions with a run each; the commits of the first one begin at 0, 1, 2 and 4. */
async function stored(): Promise<Disk> {
  const disk = newDisk();
  const { engine } = await newWorld(disk);
  const talk = await new Talk(engine.client).create();
  await talk.calls(['a', 'once'], ['b', 'free']);
  for (let times = 0; times < 2; times += 1) {
    await talk.submit([
      { kind: 'RunPaused', run_id: 'run-1' },
      { kind: 'RunResumed', run_id: 'run-1' },
    ]);
  }
  const other = await new Talk(engine.client, OTHER).create();
  await other.run();
  await engine.close();
  return disk;
}

type Tamper = (
  commits: readonly JournalCommit[],
  genesis: string,
) => {
  readonly commits?: readonly JournalCommit[];
  readonly genesis?: string;
};

/** The journal with the first session tampered with. */
async function tampered(disk: Disk, tamper: Tamper): Promise<Journal> {
  const { journal } = disk.ports();
  const commits = await readAll(disk.journal, SESSION);
  const genesis = await must(disk.journal.genesis(SESSION));
  const changed = { commits, genesis, ...tamper(commits, genesis) };
  const page = (from: number, limit: number): readonly JournalCommit[] =>
    changed.commits.filter((commit) => versionAfter(commit) > from && commit.position < from + limit);
  const mine = (id: SessionId): boolean => id === SESSION;
  return {
    ...journal,
    genesis: (id) => (mine(id) ? async () => right(changed.genesis) : journal.genesis(id)),
    read: (id, from, limit) => (mine(id) ? async () => right(page(from, limit)) : journal.read(id, from, limit)),
  };
}

const at = (commits: readonly JournalCommit[], index: number): JournalCommit => {
  const commit = commits[index];
  if (commit === undefined) throw new Error(`no commit ${index}`);
  return commit;
};

const change = (
  commits: readonly JournalCommit[],
  index: number,
  fields: Partial<JournalCommit>,
): readonly JournalCommit[] => commits.with(index, { ...at(commits, index), ...fields });

/** The commits with one event of one of them edited. */
const edited = (
  commits: readonly JournalCommit[],
  [index, nth]: readonly [commit: number, event: number],
  edit: (text: string) => string,
): readonly JournalCommit[] => {
  const events = at(commits, index).events.map((event, each) =>
    each === nth ? { ...event, text: edit(event.text) } : event,
  );
  return change(commits, index, { events });
};

/** The commits with other ones in the place of some. */
const instead = (commits: readonly JournalCommit[], from: number, ...made: readonly JournalCommit[]): Changed => ({
  commits: commits.toSpliced(from, 2, ...made),
});
type Changed = ReturnType<Tamper>;

/** The commits with fields of one changed, and the chain computed again from there on. */
function chainedAnew(
  commits: readonly JournalCommit[],
  from: number,
  fields: Partial<JournalCommit>,
): readonly JournalCommit[] {
  let { chain } = at(commits, from - 1);
  return change(commits, from, fields).map((commit, index) => {
    if (index < from) return commit;
    chain = nextChain(
      chain,
      commit.events.map(({ text }) => digestText(text)),
      commit.state_digest,
    );
    return { ...commit, chain };
  });
}

const ATTACKS: readonly (readonly [name: string, position: number, tamper: Tamper])[] = [
  [
    'an edited event',
    1,
    (commits) => ({ commits: edited(commits, [1, 0], (text) => text.replace('"once"', '"free"')) }),
  ],
  [
    'an edited event in the middle of a commit',
    3,
    (commits) => ({ commits: edited(commits, [2, 0], (text) => text.replace('"event_id":"', '"event_id":"x')) }),
  ],
  ['an event that is not JSON', 2, (commits) => ({ commits: edited(commits, [2, 0], () => '{') })],
  ['a last event of a commit that is not JSON', 3, (commits) => ({ commits: edited(commits, [2, 1], () => '{') })],
  ['an event of an unknown kind', 2, (commits) => ({ commits: edited(commits, [2, 0], () => '{"kind":"Nothing"}') })],
  [
    'an event that does not apply',
    3,
    (commits) => ({ commits: edited(commits, [2, 1], () => at(commits, 0).events[0]?.text ?? '') }),
  ],
  [
    'another state digest',
    0,
    (commits) => ({ commits: change(commits, 0, { state_digest: at(commits, 1).state_digest }) }),
  ],
  [
    'another last state digest, and a chain that binds it',
    5,
    (commits) => ({ commits: chainedAnew(commits, 3, { state_digest: at(commits, 0).state_digest }) }),
  ],
  ['another chain value', 5, (commits) => ({ commits: change(commits, 3, { chain: at(commits, 0).chain }) })],
  ['two commits that are swapped', 2, (commits) => instead(commits, 2, at(commits, 3), at(commits, 2))],
  [
    'two commits that are swapped, each at the position of the other',
    3,
    (commits) =>
      instead(
        commits,
        2,
        { ...at(commits, 3), position: at(commits, 2).position },
        { ...at(commits, 2), position: at(commits, 3).position },
      ),
  ],
  [
    'two events of a commit that are swapped',
    2,
    (commits) => ({ commits: change(commits, 2, { events: at(commits, 2).events.toReversed() }) }),
  ],
  [
    'two commits that are merged',
    5,
    (commits) =>
      instead(commits, 2, {
        ...at(commits, 3),
        position: at(commits, 2).position,
        events: [...at(commits, 2).events, ...at(commits, 3).events],
      }),
  ],
  [
    'a commit that is split',
    4,
    (commits) => {
      const last = at(commits, 3);
      const [first, second] = last.events.map((event, index) => ({
        ...last,
        position: (last.position + index) as Position,
        events: [event],
      }));
      return { commits: [...commits.slice(0, 3), first as JournalCommit, second as JournalCommit] };
    },
  ],
  [
    'an event that moved into the commit before',
    2,
    (commits) => {
      const [first, second] = at(commits, 2).events as readonly [JournalEvent, JournalEvent];
      return instead(
        commits,
        1,
        { ...at(commits, 1), events: [...at(commits, 1).events, first] },
        { ...at(commits, 2), position: 3 as Position, events: [second] },
      );
    },
  ],
  [
    'a commit that lost its last event',
    4,
    (commits) => ({ commits: change(commits, 3, { events: at(commits, 3).events.slice(0, 1) }) }),
  ],
  ['a commit at another position', 2, (commits) => ({ commits: change(commits, 2, { position: 3 as Position }) })],
  ['a hole', 1, (commits) => ({ commits: commits.toSpliced(1, 1) })],
  ['a commit twice', 1, (commits) => ({ commits: [at(commits, 0), ...commits] })],
  ['a genesis record that was cut off', -1, (_, genesis) => ({ genesis: genesis.slice(0, -9) })],
  ['an empty genesis record', -1, () => ({ genesis: '' })],
  ['another genesis record', 0, (_, genesis) => ({ genesis: genesis.replace('"turns_max":100', '"turns_max":101') })],
  [
    'a genesis record that names another tool package',
    -1,
    (_, genesis) => ({ genesis: genesis.replace(/("tool_package_digest":)"[^"]*"/, `$1"${digestText('other')}"`) }),
  ],
  ['the genesis record of another session', -1, (_, genesis) => ({ genesis: genesis.replace('"s-1"', '"s-2"') })],
];

describe('a stream that was tampered with', () => {
  test.each(ATTACKS)('is refused by position: %s', async (_name, position, tamper) => {
    const disk = await stored();
    const journal = await tampered(disk, tamper);
    const engine = await must(startEngine({ journal, blobs: disk.ports().blobs, clock: newVirtualClock() }));
    expect(engine.faults).toHaveLength(1);
    expect(engine.faults[0]).toMatchObject({ code: 'damaged' });
    expect(engine.faults[0]?.message).toContain(`session ${SESSION}, position ${position}:`);
    const { client } = engine;
    expect(await refusal(client.session(SESSION))).toEqual(engine.faults[0]);
    expect(await outcome(client.submit(SESSION, { events: [{ kind: 'RunRequested', input: { text: '' } }] }))).toBe(
      'damaged',
    );
    // The other session is served.
    const other = new Talk(client, OTHER);
    expect(await other.leased(A)).toEqual(['run-1/turn-1']);
    await other.submit([{ kind: 'RunPaused', run_id: 'run-1' }]);
    expect((await must(client.sessions())).sessions.map(({ owing }) => owing)).toEqual([true, false]);
    await engine.close();
  });

  test('is served when only a state digest in the middle was changed with the chain; an audit names it', async () => {
    const disk = await stored();
    const commits = await readAll(disk.journal, SESSION);
    const changed = chainedAnew(commits, 2, { state_digest: at(commits, 0).state_digest });
    const journal = await tampered(disk, () => ({ commits: changed }));
    const engine = await must(startEngine({ journal, blobs: disk.ports().blobs, clock: newVirtualClock() }));
    const { state_digest } = await must(engine.client.session(SESSION));
    expect(state_digest).toBe(at(commits, 3).state_digest);
    const audited = replay(await must(engine.client.records(SESSION)));
    expect(audited.divergence).toMatchObject({ position: 3, commit: 2, what: 'state_digest' });
    await engine.close();
  });

  test('loads when it was not changed', async () => {
    const disk = await stored();
    const journal = await tampered(disk, () => ({}));
    const engine = await must(startEngine({ journal, blobs: disk.ports().blobs, clock: newVirtualClock() }));
    expect(engine.faults).toEqual([]);
    await engine.close();
  });
});

describe('a tool package', () => {
  /** A session whose package no other one has, so that it is not in memory. The journal may hold another text for it. */
  async function withPackage(name: string, tamper: (text: string) => string): Promise<string> {
    const tool_package = packageOf([tool(name)]);
    const genesis = defaultGenesis({ session_id: SESSION, tool_package });
    const { journal } = newDisk();
    const text = tamper(canonicalText(tool_package));
    await must(
      journal.create(SESSION, canonicalText(genesis), { digest: genesis.tool_package_digest, text }, idleHead),
    );
    const loaded = await loadSession(journal, neverPause, SESSION);
    return isLeft(loaded) ? `${loaded.left.code}: ${loaded.left.message}` : 'loaded';
  }

  test('is read, and one that was altered is refused', async () => {
    expect(await withPackage('stored_whole', (text) => text)).toBe('loaded');
    for (const tamper of [
      (text: string) => text.replace('The tool', 'A tool'),
      (text: string) => text.slice(0, -1),
      () => canonicalText(packageOf([tool('another')])),
      () => '',
    ]) {
      const refused = await withPackage('stored_altered', tamper);
      expect(refused).toMatch(new RegExp(`^damaged: session ${SESSION}, position -1: .*tool package`));
    }
  });

  test('that is missing is refused, and the next step is named', async () => {
    const tool_package = packageOf([tool('never_stored')]);
    const genesis = defaultGenesis({ session_id: SESSION, tool_package });
    const { journal } = newDisk();
    await must(journal.create(SESSION, canonicalText(genesis), storedPackage('other'), idleHead));
    const loaded = await loadSession(journal, neverPause, SESSION);
    expect(loaded).toMatchObject({
      left: { code: 'damaged', message: expect.stringMatching(/^session s-1, position -1: .*restore/) },
    });
  });

  test('that two sessions share is stored once', async () => {
    const disk = await stored();
    const named = await Promise.all(
      [SESSION, OTHER].map(async (id) => {
        const genesis = await must(disk.journal.genesis(id));
        expect(genesis).not.toContain('registry');
        return (JSON.parse(genesis) as Genesis).tool_package_digest;
      }),
    );
    expect(new Set(named).size).toBe(1);
  });
});

describe('a store that fails while the engine opens', () => {
  test('stops it from opening when the sessions cannot be listed', async () => {
    const disk = await stored();
    disk.fault = ({ name }) => (name === 'sessions' ? 'refused' : null);
    const opened = await startEngine({ ...disk.ports(), clock: newVirtualClock() })();
    expect(isLeft(opened) && opened.left.code).toBe('storage_failed');
  });

  test('leaves a session out, which is loaded again later', async () => {
    const disk = await stored();
    let faults = 2;
    disk.fault = ({ name }) => {
      if (name !== 'read' || faults === 0) return null;
      faults -= 1;
      return 'refused';
    };
    const clock = newVirtualClock();
    const engine = await must(startEngine({ ...disk.ports(), clock }));
    expect(engine.faults).toMatchObject([{ code: 'storage_failed' }, { code: 'storage_failed' }]);
    const waiting = new Talk(engine.client).leased(A, { wait_ms: 20_000, kinds: ['tool.call'] });
    await clock.advance(1_000);
    expect(await waiting).toEqual(['batch-1/a/1', 'batch-1/b/1']);
    await engine.close();
  });
});
