// The Merkle tree of a checkpoint. Its shape is that of RFC 9162, section 2.1 (the left side of n leaves holds the largest
// power of two below n); its digests are those of canonical JSON, as everywhere. Leaves and inner nodes are digested with
// different tags, so that neither can pass for the other.
import { digestJson } from '../../schemas/canonical.ts';
import type { CheckpointLeaf } from '../../schemas/checkpoint.ts';
import type { Digest } from '../../schemas/ids.ts';

/** The digest of ["refold/checkpoint-leaf/1", session id, version, chain]. */
export const leafDigest = ({ session_id, version, chain }: CheckpointLeaf): Digest =>
  digestJson(['refold/checkpoint-leaf/1', session_id, version, chain]);

/** The digest of ["refold/checkpoint-node/1", left, right]. */
const nodeDigest = (left: Digest, right: Digest): Digest => digestJson(['refold/checkpoint-node/1', left, right]);

/** The root over leaves in this order; without leaves, the digest of ["refold/checkpoint-tree/1"]. */
export function merkleRoot(leaves: readonly Digest[]): Digest {
  const [only] = leaves;
  if (only === undefined) return digestJson(['refold/checkpoint-tree/1']);
  if (leaves.length === 1) return only;
  const split = splitOf(leaves.length);
  return nodeDigest(merkleRoot(leaves.slice(0, split)), merkleRoot(leaves.slice(split)));
}

/** The sibling digests on the path from a leaf to the root, the lowest first. */
export function merklePath(leaves: readonly Digest[], index: number): readonly Digest[] {
  if (leaves.length <= 1) return [];
  const split = splitOf(leaves.length);
  const [low, high] = [leaves.slice(0, split), leaves.slice(split)];
  return index < split
    ? [...merklePath(low, index), merkleRoot(high)]
    : [...merklePath(high, index - split), merkleRoot(low)];
}

/** The root computed from a leaf, its place and its path; null when the path does not fit the place. */
export function rootFromPath(
  leaf: Digest,
  at: { index: number; size: number },
  path: readonly Digest[],
): Digest | null {
  if (at.index < 0 || at.index >= at.size) return null;
  if (at.size === 1) return path.length === 0 ? leaf : null;
  const last = path.at(-1);
  if (last === undefined) return null;
  const split = splitOf(at.size);
  const isLow = at.index < split;
  const inner = isLow ? { index: at.index, size: split } : { index: at.index - split, size: at.size - split };
  const below = rootFromPath(leaf, inner, path.slice(0, -1));
  if (below === null) return null;
  return isLow ? nodeDigest(below, last) : nodeDigest(last, below);
}

/** The largest power of two below a count of at least 2. */
function splitOf(count: number): number {
  let split = 1;
  while (split * 2 < count) split *= 2;
  return split;
}
