// The stream chain (docs/design.md, "Bytes and digests"): the value of each commit binds the value before it, its events and
// the state after them, so that a changed, swapped or missing event shows in every value after it. The first value has the
// same form: it binds the genesis and the initial state, and no events.
import { digestJson, digestText } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import { stateDigest } from './state-digest.ts';

/** The digest of a genesis; a frozen genesis is digested once. */
export function genesisDigest(genesis: Genesis): Digest {
  const known = genesisDigests.get(genesis);
  if (known !== undefined) return known;
  const made = digestJson(genesis);
  if (Object.isFrozen(genesis)) genesisDigests.set(genesis, made);
  return made;
}

const genesisDigests = new WeakMap<Genesis, Digest>();

/** The chain value before the first commit: the digest of ["refold/chain/1", genesis digest, [], digest of the initial state]. */
export const genesisChain = (initial: SessionState): Digest =>
  nextChain(initial.genesis_digest, [], stateDigest(initial));

export const eventDigest = (event: RecordedEvent): Digest => digestJson(event);

/** The digest of ["refold/chain/1", previous chain value, [event digests], state digest]. */
export const nextChain = (previous: Digest, events: readonly Digest[], state: Digest): Digest => {
  // Digests need no escaping, so this is the canonical text.
  const listed = events.length === 0 ? '[]' : `["${events.join('","')}"]`;
  return digestText(`["refold/chain/1","${previous}",${listed},"${state}"]`);
};
