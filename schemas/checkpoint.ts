// Checkpoints: what a third party keeps to check a log against later (docs/design.md, "Bytes and digests"). The head is
// signed; the root of a Merkle tree binds it to the sessions it covers.
import { type TypeOf, integer, list, shape, tagged, text, variants } from './codec.ts';
import { Digest, SessionId, TimeMs, Version } from './ids.ts';
import { CHECKPOINT_SESSIONS_MAX, PROOF_STEPS_MAX } from './limits.ts';

/** One leaf: a stream, its number of events, and the chain value after the last of them. */
export const CheckpointLeaf = shape('CheckpointLeaf', { session_id: SessionId, version: Version, chain: Digest });
export type CheckpointLeaf = TypeOf<typeof CheckpointLeaf>;

/** What is signed: the Ed25519 signature covers the canonical JSON of exactly this object. */
export const CheckpointHead = shape('CheckpointHead', {
  /** The purpose of the signature, so that a signature made for another purpose is not accepted here. */
  purpose: text('purpose', { max: 32, pattern: /^refold\/checkpoint\/1$/ }),
  created_at_ms: TimeMs,
  tree_size: integer('tree_size', 0, CHECKPOINT_SESSIONS_MAX),
  root: Digest,
});
export type CheckpointHead = TypeOf<typeof CheckpointHead>;

/** Padded: one way of writing the same bytes, so that every verifier accepts the same files. */
const base64 = (of: string, { chars, pattern }: { readonly chars: number; readonly pattern: RegExp }) =>
  text(of, { min: chars, max: chars, pattern });

const signed = {
  head: CheckpointHead,
  /** The raw 32 bytes of the Ed25519 public key, in base64. */
  public_key: base64('public_key', { chars: 44, pattern: /^[A-Za-z0-9+/]{43}=$/ }),
  signature: base64('signature', { chars: 88, pattern: /^[A-Za-z0-9+/]{86}==$/ }),
} as const;

/** A signed head with all its leaves, sorted by session id in byte order. */
export const Checkpoint = tagged('checkpoint', { ...signed, sessions: list(CheckpointLeaf, CHECKPOINT_SESSIONS_MAX) });
export type Checkpoint = TypeOf<typeof Checkpoint>;

/** A signed head with one leaf and the sibling digests on its path to the root, the lowest first (RFC 9162, 2.1.3). */
export const CheckpointProof = tagged('checkpoint_proof', {
  ...signed,
  session: CheckpointLeaf,
  index: integer('index', 0, CHECKPOINT_SESSIONS_MAX),
  path: list(Digest, PROOF_STEPS_MAX),
});
export type CheckpointProof = TypeOf<typeof CheckpointProof>;

/** The content of a checkpoint file. */
export const CheckpointFile = variants('CheckpointFile', 'kind', {
  checkpoint: Checkpoint,
  checkpoint_proof: CheckpointProof,
});
export type CheckpointFile = TypeOf<typeof CheckpointFile>;
