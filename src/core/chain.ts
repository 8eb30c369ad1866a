// The stream chain (DESIGN section 5): each event's value binds the one before it, the event and the state after it,
// so that an edit, a swap or a hole anywhere shows from there on.
import { digestJson, digestText } from '../../schemas/canonical.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';

/** The chain value before the first event: the digest of the genesis record. */
export function genesisChain(genesis: Genesis): Digest {
  return genesisChains.get(genesis) ?? noteGenesisChain(genesis, digestJson(genesis));
}

/** Keeps the chain value of a genesis record that nobody can change, so that it is worked out once. */
export function noteGenesisChain(genesis: Genesis, chain: Digest): Digest {
  if (Object.isFrozen(genesis)) genesisChains.set(genesis, chain);
  return chain;
}

const genesisChains = new WeakMap<Genesis, Digest>();

export const eventDigest = (event: RecordedEvent): Digest => digestJson(event);

/** The digest of ["refold/chain/1", previous chain value, event digest, state digest]. */
export const nextChain = (previous: Digest, event: Digest, state: Digest): Digest =>
  // Digests need no escaping, so this is the canonical text.
  digestText(`["refold/chain/1","${previous}","${event}","${state}"]`);
