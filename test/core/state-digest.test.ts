// The state digest binds every value of a state.
import { describe, expect, test } from 'vitest';
import { type JsonObject, freezeJson } from '../../schemas/json.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest } from '../../src/core/index.ts';
import { referenceStateDigest } from '../support/reference-digest.ts';
import { walk } from '../support/streams.ts';

type Open = Record<string, unknown> | unknown[];

/** A state of a random stream during a batch, with most slots filled. */
function busyState(seed: number): SessionState {
  let best: SessionState | null = null;
  walk(seed, 60, (_, __, after) => {
    if (after !== null && after.state.active_tool_batch !== null) best = after.state;
  });
  if (best === null) throw new Error(`no batch is opened under seed ${seed}`);
  return best;
}

/** Every change of one value: another leaf, a field or item removed or added, an object in place of a list. */
function* changes(value: unknown): Generator {
  if (typeof value !== 'object' || value === null) {
    yield typeof value === 'string' ? `${value}x` : 'x';
    yield null === value ? {} : null;
    return;
  }
  yield Array.isArray(value) ? Object.fromEntries(Object.entries(value)) : { ...value, another: 1 };
  yield Array.isArray(value) ? [...(value as unknown[]), 1] : [];
  yield 'sha256:0';
  for (const key of Object.keys(value)) {
    const copy = (): Open => (Array.isArray(value) ? [...(value as unknown[])] : { ...value });
    if (!Array.isArray(value)) {
      const { [key]: _gone, ...less } = value as Record<string, unknown>;
      yield less;
    }
    for (const inner of changes((value as Record<string, unknown>)[key])) {
      yield Object.assign(copy(), { [key]: inner });
    }
  }
}

describe('the state digest', () => {
  const state = freezeJson(busyState(3));

  test('fits its definition', () => {
    expect(stateDigest(state)).toBe(referenceStateDigest(state as unknown as JsonObject));
  });

  test('differs after any change, or cannot be computed', () => {
    const own = stateDigest(state);
    let seen = 0;
    for (const changed of changes(state)) {
      seen += 1;
      if (typeof changed !== 'object' || changed === null || Array.isArray(changed)) continue;
      expect(digestOrNone(changed as SessionState)).not.toBe(own);
    }
    expect(seen).toBeGreaterThan(1_000);
  });

  test('of a state that is not frozen is not cached', () => {
    const open = structuredClone(state) as { version: number } & SessionState;
    expect(stateDigest(open)).toBe(stateDigest(state));
    Object.assign(open, { version: 999 });
    expect(stateDigest(open)).not.toBe(stateDigest(state));
  });
});

// A value that is not a state cannot always be digested; its snapshot is refused too.
function digestOrNone(changed: SessionState): string | null {
  try {
    return stateDigest(freezeJson(changed));
  } catch {
    return null;
  }
}
