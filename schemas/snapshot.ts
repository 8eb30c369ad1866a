// A snapshot: what a session's events up to some version fold to. Never truth, always a hint: whoever uses one holds
// its state against the digests of the stream, and folds the stream itself when they differ (DESIGN section 6).
import { type TypeOf, shape, text } from './codec.ts';
import { Digest, SessionId, Version } from './ids.ts';
import { SNAPSHOT_CHARS_MAX } from './limits.ts';

export const Snapshot = shape('Snapshot', {
  session_id: SessionId,
  /** How many events the state is the fold of; the digests are those recorded with the last of them. */
  version: Version,
  state_digest: Digest,
  chain: Digest,
  /** Canonical text (RFC 8785) of the state. */
  state: text('state', { max: SNAPSHOT_CHARS_MAX }),
});
export type Snapshot = TypeOf<typeof Snapshot>;
