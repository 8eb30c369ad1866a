// The stream chain (docs/design.md, "Bytes and digests"): the value of each event binds the value before it, the event and
// the state after it, so that a changed, swapped or missing event shows in every value after it.
import { digestJson, digestText } from '../../schemas/canonical.ts';
import type { RecordedEvent } from '../../schemas/upcast.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';

/** The chain value before the first event: the digest of the genesis record. */
export function genesisChain(genesis: Genesis): Digest {
  return genesisChains.get(genesis) ?? noteGenesisChain(genesis, digestJson(genesis));
}

/** Caches the chain value of a frozen genesis record. */
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
