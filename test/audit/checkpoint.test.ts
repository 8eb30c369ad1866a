// Checkpoints: what is signed, what a proof proves, and that a kept checkpoint reveals every change to a log.
import { isLeft } from 'fp-ts/lib/Either.js';
import { describe, expect, test } from 'vitest';
import {
  type Checkpoint,
  type CheckpointLeaf,
  type CommitRecord,
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
import type { Origin } from '../../src/core/initial-state.ts';
import { chainAt, commitsIn, recordsOf } from './records.ts';
import { mustBe } from '../../src/client/must.ts';

type Log = ReadonlyMap<SessionId, readonly StreamRecord[]>;

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
      const { genesis, tool_package, events } = walk(seed * 31 + index, length + 7 * index).session;
      const named = { genesis: { ...genesis, session_id: idOf(index) }, tool_package, events };
      const random = randomFrom(seed * 31 + index);
      const sizes = [1, 2, ...events.map(() => 1 + random.below(3))];
      return [idOf(index), recordsOf(named, sizes)] as const;
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

/** A session with at least three commits, so it can be changed. */
function victimIn(log: Log, random: Random): Victim {
  const fit = [...log].filter(([, records]) => commitsIn(records).length > 2);
  const [id, records] = random.pick(fit);
  return { id, records };
}

/** The index of a commit among the records. */
const someIndex = ({ records }: Victim, random: Random): number => 2 + random.below(records.length - 2);

const commitAt = (records: readonly StreamRecord[], index: number): CommitRecord => records[index] as CommitRecord;

const eventsOf = (records: readonly StreamRecord[]): readonly RecordedEvent[] =>
  commitsIn(records).flatMap(({ events }) => events);

const originOf = (records: readonly StreamRecord[]): Origin => {
  const [first, second] = records;
  if (first?.kind !== 'package' || second?.kind !== 'genesis') throw new Error('no beginning');
  return { genesis: second.genesis, tool_package: first.tool_package };
};

/** Positions and chain values corrected without a fold. */
function patched(records: readonly StreamRecord[]): readonly StreamRecord[] {
  let chain = chainAt(records, 0);
  let position = 0;
  return records.map((record) => {
    if (record.kind !== 'commit') return record;
    chain = nextChain(chain, record.events.map(eventDigest), record.state_digest);
    const made = { ...record, position: position as Position, chain };
    position += record.events.length;
    return made;
  });
}

/** The records that the fold makes of these events; events that it refuses are left out. */
function refolded(
  origin: Origin,
  events: readonly RecordedEvent[],
  sizes?: readonly number[],
): readonly StreamRecord[] {
  let state = initialState(origin.genesis, origin.tool_package);
  const kept = events.filter((event) => {
    const stepped = stepOrNull(state, event);
    if (stepped !== null) state = stepped;
    return stepped !== null;
  });
  return recordsOf({ ...origin, events: kept }, sizes);
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
    const record = commitAt(victim.records, index);
    const at = random.below(record.events.length);
    const events = record.events.with(at, later(record.events[at] as RecordedEvent));
    return put(log, victim.id, hidden(victim.records.with(index, { ...record, events }), random));
  },
  'delete a commit': (victim, random, log) =>
    put(log, victim.id, hidden(victim.records.toSpliced(someIndex(victim, random), 1), random)),
  'delete an event inside a commit': (victim, random, log) => {
    const index = victim.records.findIndex((record) => record.kind === 'commit' && record.events.length > 1);
    const record = commitAt(victim.records, index);
    const events = record.events.toSpliced(random.below(record.events.length), 1);
    return put(log, victim.id, hidden(victim.records.with(index, { ...record, events }), random));
  },
  'commit the same events differently': (victim, _, log) => {
    const sizes = commitsIn(victim.records).map(({ events }) => events.length);
    const merged = [(sizes[0] as number) + (sizes[1] as number), ...sizes.slice(2)];
    return put(log, victim.id, refolded(originOf(victim.records), eventsOf(victim.records), merged));
  },
  truncate: (victim, random, log) => put(log, victim.id, victim.records.slice(0, someIndex(victim, random))),
  'swap two commits': (victim, random, log) => {
    const a = 2 + random.below(victim.records.length - 3);
    const b = a + 1 + random.below(victim.records.length - a - 1);
    const [first, second] = [commitAt(victim.records, a), commitAt(victim.records, b)];
    const moved = random.oneIn(2)
      ? victim.records.with(a, second).with(b, first)
      : victim.records.with(a, { ...first, events: second.events }).with(b, { ...second, events: first.events });
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
    const origin = originOf(victim.records);
    const events = eventsOf(victim.records);
    const index = random.below(events.length);
    const whole = random.oneIn(3)
      ? refolded({ ...origin, genesis: { ...origin.genesis, created_at_ms: origin.genesis.created_at_ms + 1 } }, events)
      : random.oneIn(2)
        ? refolded(origin, events.with(index, later(events[index] as RecordedEvent)))
        : refolded(origin, events.toSpliced(index, 1));
    return put(log, victim.id, whole);
  },
};

const CONSISTENT = new Set([
  'truncate',
  'swap two sessions',
  'delete a session',
  're-chain it',
  'commit the same events differently',
]);

const verifies = (records: readonly StreamRecord[]): boolean => {
  const replayer = newReplayer();
  return records.every((record) => replayer.add(record));
};

describe('a kept checkpoint', () => {
  const SEEDS = roundsOf(4, 80);

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
    if (CONSISTENT.has(name)) {
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
    expect(whatOf('commit the same events differently')).toEqual(['rewritten']);
    expect(whatOf('truncate')).toEqual(['truncated']);
    expect(whatOf('swap two sessions')).toEqual(['swapped', 'swapped']);
    expect(whatOf('delete a session')).toEqual(['deleted']);
    expect(['rewritten', 'truncated']).toContain(whatOf('re-chain it')[0]);
  });

  test('accepts a log that is unchanged, has grown, or has new sessions', () => {
    let grown = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const more = logOf(seed, 40, 5);
      const before: Log = new Map(
        [...more].slice(0, 3).map(([id, records]) => [id, records.slice(0, 2 + Math.floor(records.length / 2))]),
      );
      const checkpoint = signed(leavesOf(before));
      expect(faults(checkpoint, before)).toEqual([]);
      grown += more.get(idOf(0))?.length ?? 0;
      expect(faults(checkpoint, more)).toEqual([]);
    }
    expect(grown).toBeGreaterThan(SEEDS);
  });

  test('made inside what is one commit now says so', () => {
    const [records] = [...logOf(4, 24).values()];
    if (records === undefined) throw new Error('no session');
    const checkpoint = signed([leafOf(records.slice(0, 3))]);
    const whole = refolded(originOf(records), eventsOf(records), [eventsOf(records).length]);
    expect(faults(checkpoint, new Map([[idOf(0), whole]]))).toMatchObject([
      { what: 'rewritten', position: 0, message: expect.stringContaining('no commit ends there now') },
    ]);
  });

  test('covers the genesis records of sessions without events', () => {
    const log: Log = new Map([...logOf(1, 10)].map(([id, records]) => [id, records.slice(0, 2)]));
    const checkpoint = signed(leavesOf(log));
    expect(faults(checkpoint, log)).toEqual([]);
    const { genesis, tool_package } = originOf(log.get(idOf(0)) ?? []);
    const other = recordsOf({ genesis: { ...genesis, created_at_ms: 77 }, tool_package, events: [] });
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
