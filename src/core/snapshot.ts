// Snapshots of a state: made, and read back only when the state has the digest that the snapshot names. Pure.
import { canonicalText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { freezeJson, isPlainObject } from '../../schemas/json.ts';
import { SNAPSHOT_CHARS_MAX } from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest } from './state-digest.ts';

/** The snapshot of a state and the chain value after its last event; null when it is too large or cannot be read back. */
export function makeSnapshot(state: SessionState, chain: Digest): Snapshot | null {
  const { session_id, version } = state;
  const text = canonicalText(state);
  if (text.length > SNAPSHOT_CHARS_MAX) return null;
  const snapshot: Snapshot = { session_id, version, state_digest: stateDigest(state), chain, state: text };
  return readSnapshot(snapshot) === null ? null : snapshot;
}

/**
 * The state of a snapshot, frozen; null unless its digest, session and version are those the snapshot names. The caller
 * must check that the stream has this digest at this version.
 */
export function readSnapshot({ state, state_digest, session_id, version }: Snapshot): SessionState | null {
  try {
    const parsed: unknown = JSON.parse(state);
    if (!isPlainObject(parsed)) return null;
    // Equal digests mean equal values, so a value with the digest of a state is that state.
    const read = freezeJson(parsed) as unknown as SessionState;
    if (stateDigest(read) !== state_digest) return null;
    return read.session_id === session_id && read.version === version ? read : null;
  } catch {
    // The text is damaged: not JSON, or nested too deeply to be digested.
    return null;
  }
}
