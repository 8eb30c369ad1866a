// A snapshot: the state that the events of a session up to some version fold to. It is a hint, never the source of truth:
// the reader checks it against the digests of the stream, and folds the stream when they differ (docs/design.md,
// "Durability and crashes").
import { type TypeOf, shape, text } from './codec.ts';
import { Digest, SessionId, Version } from './ids.ts';
import { SNAPSHOT_CHARS_MAX } from './limits.ts';

export const Snapshot = shape('Snapshot', {
  session_id: SessionId,
  /** How many events the state is folded from; the digests are those recorded with the last of them. */
  version: Version,
  state_digest: Digest,
  chain: Digest,
  /** Canonical text (RFC 8785) of the state. */
  state: text('state', { max: SNAPSHOT_CHARS_MAX }),
});
export type Snapshot = TypeOf<typeof Snapshot>;
