// No store is trusted: a record that does not verify is `damaged`, with session and position, and other sessions are
// served.
import { isLeft, right } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import { digestText } from '../../schemas/canonical.ts';
import { type SessionId, brand } from '../../schemas/ids.ts';
import { must } from '../../src/client/must.ts';
import { nextChain, replay } from '../../src/core/index.ts';
import { startEngine } from '../../src/engine/engine.ts';
import type { Journal, JournalRecord } from '../../src/journal/journal.ts';
import { type Disk, newDisk } from '../support/engine/disk.ts';
import { newVirtualClock } from '../support/engine/virtual-clock.ts';
import { A, SESSION, Talk, newWorld } from '../support/engine/world.ts';
import { outcome, refusal } from '../support/journal/outcomes.ts';

const OTHER = brand<'SessionId'>('s-2');

/** Two sessions with a run each, the first of four events. */
async function stored(): Promise<Disk> {
  const disk = newDisk();
  const { engine } = await newWorld(disk);
  const talk = await new Talk(engine.client).create();
  await talk.calls(['a', 'once'], ['b', 'free']);
  await talk.submit([
    { kind: 'RunPaused', run_id: 'run-1' },
    { kind: 'RunResumed', run_id: 'run-1' },
  ]);
  const other = await new Talk(engine.client, OTHER).create();
  await other.run();
  await engine.close();
  return disk;
}

type Tamper = (
  records: readonly JournalRecord[],
  genesis: string,
) => {
  readonly records?: readonly JournalRecord[];
  readonly genesis?: string;
};

/** The journal with the first session tampered with. */
async function tampered(disk: Disk, tamper: Tamper): Promise<Journal> {
  const { journal } = disk.ports();
  const records = await must(disk.journal.read(SESSION, 0 as never, 1_000));
  const genesis = await must(disk.journal.genesis(SESSION));
  const changed = { records, genesis, ...tamper(records, genesis) };
  const mine = (id: SessionId): boolean => id === SESSION;
  return {
    ...journal,
    genesis: (id) => (mine(id) ? async () => right(changed.genesis) : journal.genesis(id)),
    read: (id, from, limit) =>
      mine(id) ? async () => right(changed.records.slice(from, from + limit)) : journal.read(id, from, limit),
  };
}

const change = (
  records: readonly JournalRecord[],
  at: number,
  fields: Partial<JournalRecord>,
): readonly JournalRecord[] => records.map((record, index) => (index === at ? { ...record, ...fields } : record));

const at = (records: readonly JournalRecord[], index: number): JournalRecord => {
  const record = records[index];
  if (record === undefined) throw new Error(`no record ${index}`);
  return record;
};

/** The records with fields of one changed, and the chain computed again from there on. */
function chainedAnew(
  records: readonly JournalRecord[],
  from: number,
  fields: Partial<JournalRecord>,
): readonly JournalRecord[] {
  let { chain } = at(records, from - 1);
  return change(records, from, fields).map((record, index) => {
    if (index < from) return record;
    chain = nextChain(chain, digestText(record.event), record.state_digest);
    return { ...record, chain };
  });
}

const ATTACKS: readonly (readonly [name: string, position: number, tamper: Tamper])[] = [
  [
    'an edited event',
    1,
    (records) => ({ records: change(records, 1, { event: at(records, 1).event.replace('"once"', '"free"') }) }),
  ],
  ['an event that is not JSON', 2, (records) => ({ records: change(records, 2, { event: '{' }) })],
  ['an event of an unknown kind', 2, (records) => ({ records: change(records, 2, { event: '{"kind":"Nothing"}' }) })],
  ['an event that does not apply', 2, (records) => ({ records: change(records, 2, { event: at(records, 0).event }) })],
  [
    'another state digest',
    0,
    (records) => ({ records: change(records, 0, { state_digest: at(records, 1).state_digest }) }),
  ],
  [
    'another last state digest, and a chain that binds it',
    3,
    (records) => ({ records: chainedAnew(records, 3, { state_digest: at(records, 0).state_digest }) }),
  ],
  ['another chain value', 3, (records) => ({ records: change(records, 3, { chain: at(records, 0).chain }) })],
  [
    'two records that are swapped',
    2,
    (records) => ({ records: [at(records, 0), at(records, 1), at(records, 3), at(records, 2)] }),
  ],
  ['a hole', 1, (records) => ({ records: records.toSpliced(1, 1) })],
  ['a record twice', 1, (records) => ({ records: [at(records, 0), ...records] })],
  ['a genesis record that was cut off', -1, (_, genesis) => ({ genesis: genesis.slice(0, -9) })],
  ['an empty genesis record', -1, () => ({ genesis: '' })],
  ['another genesis record', 0, (_, genesis) => ({ genesis: genesis.replace('"turns_max":100', '"turns_max":101') })],
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
    expect((await must(client.sessions())).map(({ owing }) => owing)).toEqual([true, false]);
    await engine.close();
  });

  test('is served when only a state digest in the middle was changed with the chain; an audit names it', async () => {
    const disk = await stored();
    const records = await must(disk.journal.read(SESSION, 0 as never, 1_000));
    const changed = chainedAnew(records, 2, { state_digest: at(records, 0).state_digest });
    const journal = await tampered(disk, () => ({ records: changed }));
    const engine = await must(startEngine({ journal, blobs: disk.ports().blobs, clock: newVirtualClock() }));
    const { state_digest } = await must(engine.client.session(SESSION));
    expect(state_digest).toBe(at(records, 3).state_digest);
    const audited = replay(await must(engine.client.records(SESSION)));
    expect(audited.divergence).toMatchObject({ position: 2, what: 'state_digest' });
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
