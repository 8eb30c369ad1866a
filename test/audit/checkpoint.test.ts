// Checkpoints: what is signed, what a proof proves, and that a kept checkpoint reveals every change to a log.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import {
  type Checkpoint,
  type CheckpointLeaf,
  type Digest,
  type RecordedEvent,
  type Position,
  type SessionId,
  type SessionState,
  type StreamRecord,
  type Version,
  CheckpointFile,
  brand,
  decode,
  digest,
} from '../../schemas/index.ts';
import {
  type CheckpointFault,
  compareWithCheckpoint,
  eventDigest,
  initialState,
  leafOf,
  newReplayer,
  nextChain,
  proveSession,
  step,
} from '../../src/core/index.ts';
import { leafDigest, merklePath, merkleRoot, rootFromPath } from '../../src/core/merkle.ts';
import { findCheckpointFault, newSigningKeys, signCheckpoint } from '../../src/audit/signature.ts';
import { type Random, randomFrom, roundsOf } from '../support/random.ts';
import { walk } from '../support/streams.ts';
import { recordsOf } from './records.ts';
import { mustBe } from '../../src/client/must.ts';

type Log = ReadonlyMap<SessionId, readonly StreamRecord[]>;
type Genesis = Extract<StreamRecord, { kind: 'genesis' }>['genesis'];

const keys = newSigningKeys();
const idOf = (index: number): SessionId => brand<'SessionId'>(`s-${index}`);

/** A few sessions of random length, with different ids. */
function logOf(seed: number, length: number, sessions = 3): Log {
  const key = `${seed} ${length} ${sessions}`;
  const log = made.get(key) ?? makeLog(seed, length, sessions);
  made.set(key, log);
  return log;
}

// Logs are cached: each is attacked in many ways.
const made = new Map<string, Log>();

function makeLog(seed: number, length: number, sessions: number): Log {
  return new Map(
    Array.from({ length: sessions }, (_, index) => {
      const { genesis, events } = walk(seed * 31 + index, length + 7 * index).session;
      return [idOf(index), recordsOf({ genesis: { ...genesis, session_id: idOf(index) }, events })] as const;
    }),
  );
}

const leavesOf = (log: Log): readonly CheckpointLeaf[] => [...log.values()].map((records) => leafOf(records));

function signed(leaves: readonly CheckpointLeaf[], privatePem = keys.privatePem): Checkpoint {
  return mustBe(signCheckpoint(leaves, { privatePem, created_at_ms: 1_000 }));
}

const faults = (checkpoint: Checkpoint, log: Log): readonly CheckpointFault[] =>
  compareWithCheckpoint(checkpoint.sessions, log);

// ── the attacks ──

interface Victim {
  readonly id: SessionId;
  readonly records: readonly StreamRecord[];
}

/** A session with at least two events, so it can be changed. */
function victimIn(log: Log, random: Random): Victim {
  const fit = [...log].filter(([, records]) => records.length > 2);
  const [id, records] = random.pick(fit);
  return { id, records };
}

type EventRecord = Extract<StreamRecord, { kind: 'event' }>;

const eventAt = (records: readonly StreamRecord[], index: number): EventRecord => records[index] as EventRecord;
const someIndex = ({ records }: Victim, random: Random): number => 1 + random.below(records.length - 1);

/** Positions, event digests and chain values corrected without a fold. */
function patched(records: readonly StreamRecord[]): readonly StreamRecord[] {
  const [genesis, ...events] = records as readonly [StreamRecord, ...EventRecord[]];
  let { chain } = genesis;
  return [
    genesis,
    ...events.map((record, index) => {
      const event_digest = eventDigest(record.event);
      chain = nextChain(chain, event_digest, record.state_digest);
      return { ...record, position: index as Position, event_digest, chain };
    }),
  ];
}

/** The records that the fold makes of these events; events that it refuses are left out. */
function refolded(genesis: Genesis, events: readonly RecordedEvent[]): readonly StreamRecord[] {
  let state = initialState(genesis);
  const kept = events.filter((event) => {
    const stepped = stepOrNull(state, event);
    if (stepped !== null) state = stepped;
    return stepped !== null;
  });
  return recordsOf({ genesis, events: kept });
}

function stepOrNull(state: SessionState, event: RecordedEvent): SessionState | null {
  try {
    const stepped = step(state, event);
    return isLeft(stepped) ? null : stepped.right.state;
  } catch {
    return null;
  }
}

const later = (event: RecordedEvent): RecordedEvent => ({ ...event, at_ms: event.at_ms + 1 });

type Attack = (victim: Victim, random: Random, log: Log) => Log;

const put = (log: Log, id: SessionId, records: readonly StreamRecord[]): Log => new Map(log).set(id, records);

/** Does not hide the change, or hides it by correcting every digest that needs no fold. */
const hidden = (records: readonly StreamRecord[], random: Random): readonly StreamRecord[] =>
  random.oneIn(2) ? records : patched(records);

const ATTACKS: Readonly<Record<string, Attack>> = {
  'edit an event': (victim, random, log) => {
    const index = someIndex(victim, random);
    const record = eventAt(victim.records, index);
    return put(log, victim.id, hidden(victim.records.with(index, { ...record, event: later(record.event) }), random));
  },
  'delete an event': (victim, random, log) =>
    put(log, victim.id, hidden(victim.records.toSpliced(someIndex(victim, random), 1), random)),
  truncate: (victim, random, log) => put(log, victim.id, victim.records.slice(0, someIndex(victim, random))),
  'swap two events': (victim, random, log) => {
    const a = 1 + random.below(victim.records.length - 2);
    const b = a + 1 + random.below(victim.records.length - a - 1);
    const [first, second] = [eventAt(victim.records, a), eventAt(victim.records, b)];
    const moved = random.oneIn(2)
      ? victim.records.with(a, second).with(b, first)
      : victim.records.with(a, { ...first, event: second.event }).with(b, { ...second, event: first.event });
    return put(log, victim.id, hidden(moved, random));
  },
  'swap two sessions': (victim, random, log) => {
    const [id, records] = random.pick([...log].filter(([other]) => other !== victim.id));
    return put(put(log, victim.id, records), id, victim.records);
  },
  'delete a session': (victim, _, log) => {
    const left = new Map(log);
    left.delete(victim.id);
    return left;
  },
  're-chain it': (victim, random, log) => {
    const [first] = victim.records;
    if (first?.kind !== 'genesis') throw new Error('no genesis record');
    const events = victim.records.flatMap((record) => (record.kind === 'event' ? [record.event] : []));
    const index = random.below(events.length);
    const whole = random.oneIn(3)
      ? refolded({ ...first.genesis, created_at_ms: first.genesis.created_at_ms + 1 }, events)
      : random.oneIn(2)
        ? refolded(first.genesis, events.with(index, later(events[index] as RecordedEvent)))
        : refolded(first.genesis, events.toSpliced(index, 1));
    return put(log, victim.id, whole);
  },
};

const verifies = (records: readonly StreamRecord[]): boolean => {
  const replayer = newReplayer();
  return records.every((record) => replayer.add(record));
};

describe('a kept checkpoint', () => {
  const SEEDS = roundsOf(8);

  test.each(Object.entries(ATTACKS))('reveals an attempt to %s, and names the session', (name, attack) => {
    let consistent = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const random = randomFrom(seed * 7 + name.length);
      const log = logOf(seed, 24);
      const checkpoint = signed(leavesOf(log));
      const victim = victimIn(log, random);
      const attacked = attack(victim, random, log);
      const found = faults(checkpoint, attacked);
      expect(
        found.map(({ session_id }) => session_id),
        `seed ${seed}`,
      ).toContain(victim.id);
      expect(found.length).toBeLessThanOrEqual(name === 'swap two sessions' ? 2 : 1);
      for (const { position, message } of found) {
        expect(position).toBeLessThan(40);
        expect(message.length).toBeGreaterThan(10);
      }
      if (verifies(attacked.get(victim.id) ?? [])) consistent += 1;
    }
    // The log stays consistent under these attacks: only the checkpoint reveals them.
    if (['truncate', 'swap two sessions', 'delete a session', 're-chain it'].includes(name)) {
      expect(consistent).toBe(SEEDS);
    }
  });

  test('names the kind of the change', () => {
    const log = logOf(3, 24);
    const checkpoint = signed(leavesOf(log));
    const random = randomFrom(1);
    const victim = victimIn(log, random);
    const whatOf = (name: string) =>
      faults(checkpoint, (ATTACKS[name] as Attack)(victim, random, log)).map(({ what }) => what);
    expect(whatOf('edit an event')).toEqual(['altered']);
    expect(whatOf('truncate')).toEqual(['truncated']);
    expect(whatOf('swap two sessions')).toEqual(['swapped', 'swapped']);
    expect(whatOf('delete a session')).toEqual(['deleted']);
    expect(['rewritten', 'truncated']).toContain(whatOf('re-chain it')[0]);
  });

  test('accepts a log that is unchanged, has grown, or has new sessions', () => {
    let grown = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const checkpoint = signed(leavesOf(logOf(seed, 24)));
      expect(faults(checkpoint, logOf(seed, 24))).toEqual([]);
      const more = logOf(seed, 40, 5);
      grown += more.get(idOf(0))?.length ?? 0;
      expect(faults(checkpoint, more)).toEqual([]);
    }
    expect(grown).toBeGreaterThan(SEEDS);
  });

  test('covers the genesis records of sessions without events', () => {
    const log: Log = new Map([...logOf(1, 10)].map(([id, records]) => [id, records.slice(0, 1)]));
    const checkpoint = signed(leavesOf(log));
    expect(faults(checkpoint, log)).toEqual([]);
    const [first] = log.get(idOf(0)) ?? [];
    if (first?.kind !== 'genesis') throw new Error('no genesis record');
    const other = recordsOf({ genesis: { ...first.genesis, created_at_ms: 77 }, events: [] });
    expect(faults(checkpoint, new Map(log).set(idOf(0), other))).toMatchObject([{ what: 'rewritten', position: -1 }]);
  });
});

describe('a signature', () => {
  const checkpoint = signed(leavesOf(logOf(5, 20)));
  const why = (file: CheckpointFile, publicPem?: string) => findCheckpointFault(file, publicPem)?.message ?? null;

  test('is valid for the key that made it, and for no other', () => {
    expect(why(checkpoint)).toBeNull();
    expect(why(checkpoint, keys.publicPem)).toBeNull();
    const other = newSigningKeys();
    expect(why(checkpoint, other.publicPem)).toMatch(/another key/);
    // A forged log signed with another key is detected by comparison with the trusted key.
    expect(why(signed(checkpoint.sessions, other.privatePem))).toBeNull();
    expect(why(signed(checkpoint.sessions, other.privatePem), keys.publicPem)).toMatch(/another key/);
  });

  const [first, second] = checkpoint.sessions as readonly [CheckpointLeaf, CheckpointLeaf];
  const zero = `sha256:${'0'.repeat(64)}` as Digest;
  test.each<[string, Checkpoint, RegExp]>([
    ['a later time', { ...checkpoint, head: { ...checkpoint.head, created_at_ms: 1_001 } }, /signature/],
    ['another root', { ...checkpoint, head: { ...checkpoint.head, root: zero } }, /signature/],
    ['another signature', { ...checkpoint, signature: signed([]).signature }, /signature/],
    ['no signature', { ...checkpoint, signature: 'AA==' }, /signature/],
    ['no key', { ...checkpoint, public_key: 'AA==' }, /signature/],
    [
      'another chain value',
      { ...checkpoint, sessions: [{ ...first, chain: zero }, ...checkpoint.sessions.slice(1)] },
      /root/,
    ],
    [
      'another version',
      {
        ...checkpoint,
        sessions: [{ ...first, version: (first.version + 1) as Version }, ...checkpoint.sessions.slice(1)],
      },
      /root/,
    ],
    ['one session less', { ...checkpoint, sessions: checkpoint.sessions.slice(1) }, /lists 2 sessions, its head 3/],
    [
      'two sessions in another order',
      { ...checkpoint, sessions: [second, first, ...checkpoint.sessions.slice(2)] },
      /out of order/,
    ],
    ['one session twice', { ...checkpoint, sessions: [first, first, second] }, /twice/],
  ])('is not valid for %s', (_, file, message) => {
    expect(why(file)).toMatch(message);
  });

  test('requires an Ed25519 key', () => {
    const answer = signCheckpoint([], { privatePem: keys.publicPem, created_at_ms: 1 });
    expect(answer).toMatchObject({ left: { code: 'key_invalid' } });
    expect(why(checkpoint, 'no key')).toMatch(/public Ed25519 key/);
  });

  test('is the same bytes for the same sessions in any order', () => {
    expect(signed(checkpoint.sessions.toReversed())).toEqual(checkpoint);
  });

  test('is stored in a file without unknown fields', () => {
    expect(decode(CheckpointFile, JSON.parse(JSON.stringify(checkpoint)))._tag).toBe('Right');
    expect(decode(CheckpointFile, { ...checkpoint, note: 'x' })._tag).toBe('Left');
  });
});

describe('the Merkle tree', () => {
  const leaves = Array.from({ length: 40 }, (_, index) => digest(`leaf ${index}`));

  /** A second implementation of the tree: pairs are joined level by level, an odd node moves up unchanged. */
  function plainRoot(level: readonly Digest[]): Digest {
    if (level.length === 0) return digest(['refold/checkpoint-tree/1']);
    if (level.length === 1) return level[0] as Digest;
    const above: Digest[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [level[index] as Digest, level[index + 1]];
      above.push(right === undefined ? left : digest(['refold/checkpoint-node/1', left, right]));
    }
    return plainRoot(above);
  }

  test('of every size has the root of the plain implementation, and a proof for every leaf', () => {
    for (let size = 0; size <= leaves.length; size += 1) {
      const some = leaves.slice(0, size);
      const root = merkleRoot(some);
      expect(root).toBe(plainRoot(some));
      for (const [index, leaf] of some.entries()) {
        const path = merklePath(some, index);
        expect(rootFromPath(leaf, { index, size }, path)).toBe(root);
        const elsewhere = { index: (index + 1) % size, size };
        if (size > 1) expect(rootFromPath(leaf, elsewhere, path)).not.toBe(root);
        if (path.length > 0) expect(rootFromPath(leaf, { index, size }, path.slice(1))).not.toBe(root);
        expect(rootFromPath(leaf, { index, size }, [...path, leaf])).not.toBe(root);
        expect(rootFromPath(leaf, { index: size, size }, path)).toBeNull();
      }
    }
  });

  test('distinguishes a leaf from a node', () => {
    const leaf = { session_id: brand<'SessionId'>('a'), version: 0 as Version, chain: leaves[0] as Digest };
    expect(leafDigest(leaf)).toBe(digest(['refold/checkpoint-leaf/1', 'a', 0, leaves[0]]));
  });
});

describe('a proof', () => {
  const checkpoint = signed(leavesOf(logOf(9, 20, 5)));

  test('is valid for each session alone, and contains only digests of the others', () => {
    for (const leaf of checkpoint.sessions) {
      const proof = proveSession(checkpoint, leaf.session_id);
      if (proof === null) throw new Error('no proof');
      expect(findCheckpointFault(proof, keys.publicPem)).toBeNull();
      const text = JSON.stringify(proof);
      for (const other of checkpoint.sessions) if (other !== leaf) expect(text).not.toContain(other.chain);
      for (const bent of [
        { ...proof, session: { ...leaf, version: 999 as Version } },
        { ...proof, session: { ...leaf, session_id: brand<'SessionId'>('another') } },
        { ...proof, index: (proof.index + 1) % 5 },
        { ...proof, path: proof.path.slice(1) },
      ]) {
        expect(findCheckpointFault(bent)?.message).toMatch(/does not lead/);
      }
    }
  });

  test('does not exist for a session that was not signed', () => {
    expect(proveSession(checkpoint, brand('absent'))).toBeNull();
  });
});
