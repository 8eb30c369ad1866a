// Snapshots of the state: made of a state, and read back only into the very state whose digest they claim. Pure.
import { canonicalText } from '../../schemas/canonical.ts';
import type { Digest } from '../../schemas/ids.ts';
import { freezeJson, isPlainObject } from '../../schemas/json.ts';
import { SNAPSHOT_CHARS_MAX } from '../../schemas/limits.ts';
import type { Snapshot } from '../../schemas/snapshot.ts';
import type { SessionState } from '../../schemas/state.ts';
import { stateDigest } from './state-digest.ts';

/** The snapshot of a state and the chain value after its last event; null when it is too large, or is not read back. */
export function makeSnapshot(state: SessionState, chain: Digest): Snapshot | null {
  const { session_id, version } = state;
  const text = canonicalText(state);
  if (text.length > SNAPSHOT_CHARS_MAX) return null;
  const snapshot: Snapshot = { session_id, version, state_digest: stateDigest(state), chain, state: text };
  return readSnapshot(snapshot) === null ? null : snapshot;
}

/**
 * The state of a snapshot, frozen as a fold leaves it; null unless its digest, its session and its version are those
 * the snapshot names. That these are the stream's own is for the caller to check.
 */
export function readSnapshot({ state, state_digest, session_id, version }: Snapshot): SessionState | null {
  try {
    const parsed: unknown = JSON.parse(state);
    if (!isPlainObject(parsed)) return null;
    // Equal digests are equal values, so that what is read is a state because the digest is that of one.
    const read = freezeJson(parsed) as unknown as SessionState;
    if (stateDigest(read) !== state_digest) return null;
    return read.session_id === session_id && read.version === version ? read : null;
  } catch {
    // Text that a damaged disk gave: no JSON, or nested beyond what can be digested.
    return null;
  }
}
