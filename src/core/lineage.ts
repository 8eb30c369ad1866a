// Checks the claim in the genesis record of a fork: the first events are those of its source, and the chain value is the
// source's after them. The chain binds the recorded states of the source, so nothing is folded here.
import { digestJson } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { eventDigest, genesisChain, nextChain } from './chain.ts';
import { forkedGenesis } from './fork.ts';

/** The position at which a fork and its source differ too early; -1 is the genesis record. */
export interface LineageFault {
  readonly position: number;
  readonly message: string;
}

export interface LineageCheck {
  /** Takes the records of both at the next position, null when a stream has ended. False when no more are needed. */
  add(source: StreamRecord | null, fork: StreamRecord | null): boolean;
  /** The first fault; null while both are equal. */
  fault(): LineageFault | null;
}

export function newLineageCheck(forked: Genesis): LineageCheck {
  const { forked_from: from } = forked;
  let position = -1;
  let chain: Digest | null = null;
  let fault: LineageFault | null = null;

  const differs = (message: string): boolean => {
    fault = { position, message };
    return false;
  };

  function compare(source: StreamRecord, fork: StreamRecord): boolean {
    if (from === undefined) return differs('the stream is not a fork');
    if (source.kind === 'genesis' || chain === null) {
      if (source.kind !== 'genesis') return differs('the source does not begin with a genesis record');
      chain = genesisChain(source.genesis);
      const { session_id } = forked;
      const expected = forkedGenesis(source.genesis, { session_id, at: from.position, chain: from.chain });
      const same = digestJson(expected) === digestJson(forked);
      return same || differs('the genesis records differ in a field that a fork must keep');
    }
    if (fork.kind === 'genesis') return differs('the fork has a second genesis record here');
    const digest = eventDigest(source.event);
    chain = nextChain(chain, digest, source.state_digest);
    return digest === eventDigest(fork.event) || differs(`the event is not that of ${from.session_id}`);
  }

  return {
    add(source, fork) {
      if (fault !== null || from === undefined) return false;
      if (source === null || fork === null) {
        return differs(`the ${source === null ? 'source' : 'fork'} ends here, before the fork point ${from.position}`);
      }
      if (!compare(source, fork)) return false;
      position += 1;
      if (position < (from.position as number)) return true;
      return chain === from.chain
        ? false
        : differs(`the chain value of ${from.session_id} here is not the one in the genesis record of the fork`);
    },
    fault: () => fault,
  };
}
