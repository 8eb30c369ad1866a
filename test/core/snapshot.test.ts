// A snapshot is read back into the state it was made from, or not at all; folding from it gives the same states.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Version } from '../../schemas/ids.ts';
import { SNAPSHOT_CHARS_MAX } from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import { effects, genesisChain, initialState, stateBytes, stateDigest } from '../../src/core/index.ts';
import { makeSnapshot, readSnapshot } from '../../src/core/snapshot.ts';
import { roundsOf } from '../support/random.ts';
import { accepted, type session } from '../support/session.ts';
import { walk } from '../support/streams.ts';

const anySeed = fc.integer({ min: 1, max: 1_000_000 });

function snapshotOf(of: ReturnType<typeof session>): Snapshot {
  const snapshot = makeSnapshot(of.state, genesisChain(initialState(of.genesis, of.tool_package)));
  if (snapshot === null) throw new Error('no snapshot');
  return snapshot;
}

describe('a snapshot', () => {
  test('of any state is read back into the same bytes and folds to the same later states', () => {
    fc.assert(
      fc.property(anySeed, fc.nat(80), (seed, cut) => {
        const walked = walk(seed, 120).session;
        const at = Math.min(cut, walked.events.length);
        let live = initialState(walked.genesis, walked.tool_package);
        for (const event of walked.events.slice(0, at)) live = accepted(live, event);
        const snapshot = makeSnapshot(live, genesisChain(live));
        let read = snapshot === null ? null : readSnapshot(snapshot);
        if (read === null) throw new Error('the snapshot is not read back');
        expect(stateBytes(read)).toEqual(stateBytes(live));
        for (const event of walked.events.slice(at)) {
          live = accepted(live, event);
          read = accepted(read, event);
          expect(stateDigest(read)).toBe(stateDigest(live));
        }
        expect(stateBytes(read)).toEqual(stateBytes(walked.state));
        expect(effects(read)).toEqual(effects(walked.state));
      }),
      { numRuns: roundsOf(3, 400) },
    );
  });

  test('is read into a frozen state', () => {
    const read = readSnapshot(snapshotOf(walk(3, 60).session));
    const frozen = (value: unknown): boolean =>
      typeof value !== 'object' || value === null || (Object.isFrozen(value) && Object.values(value).every(frozen));
    expect(read).not.toBeNull();
    expect(frozen(read)).toBe(true);
  });

  test('with changed text is refused, or read as the same state', () => {
    const good = snapshotOf(walk(5, 60).session);
    const bytes = stateBytes(walk(5, 60).session.state);
    fc.assert(
      fc.property(fc.nat(good.state.length - 1), fc.integer({ min: 32, max: 126 }), (at, code) => {
        const state = good.state.slice(0, at) + String.fromCharCode(code) + good.state.slice(at + 1);
        const read = readSnapshot({ ...good, state });
        expect(read === null || state === good.state || Buffer.compare(stateBytes(read), bytes) === 0).toBe(true);
      }),
      { numRuns: roundsOf(50, 4_000) },
    );
  });

  test.each<[string, Partial<Snapshot>]>([
    ['another version', { version: 999 as Version }],
    ['another session', { session_id: 'other' as Snapshot['session_id'] }],
    ['another digest', { state_digest: `sha256:${'0'.repeat(64)}` as Snapshot['state_digest'] }],
    ['no text', { state: '' }],
    ['text that is not JSON', { state: '{' }],
    ['a list', { state: '[]' }],
    ['very deep nesting', { state: `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}` }],
  ])('with %s is refused', (_name, change) => {
    const good = snapshotOf(walk(7, 40).session);
    expect(readSnapshot(good)).not.toBeNull();
    expect(readSnapshot({ ...good, ...change })).toBeNull();
  });

  test('is not made of a state that exceeds the limit', () => {
    const { state } = walk(9, 30).session;
    const open = Array.from({ length: SNAPSHOT_CHARS_MAX / 4_000 }, () => ({
      role: 'user' as const,
      content: { text: 'x'.repeat(4_000) },
    }));
    const large = { ...state, transcript: { ...state.transcript, open } };
    expect(makeSnapshot(large, genesisChain(state))).toBeNull();
  });
});
