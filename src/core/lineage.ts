// Whether a fork is what its genesis record says: the same first events as its source, and the chain value that the
// source has after them. The chain binds the source's recorded states, so nothing has to be folded for this.
import { digestJson } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import { eventDigest, genesisChain, nextChain } from './chain.ts';
import { forkedGenesis } from './fork.ts';

/** Where a fork and its source part too early: -1 is the genesis record. */
export interface LineageFault {
  readonly position: number;
  readonly message: string;
}

export interface LineageCheck {
  /** The records of both streams at the next position, null where one has ended. False when no more are needed. */
  add(source: StreamRecord | null, fork: StreamRecord | null): boolean;
  /** The first fault; null while both are the same. */
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
    if (from === undefined) return differs('the stream is no fork');
    if (source.kind === 'genesis' || chain === null) {
      if (source.kind !== 'genesis') return differs('the source does not begin with a genesis record');
      chain = genesisChain(source.genesis);
      const { session_id } = forked;
      const expected = forkedGenesis(source.genesis, { session_id, at: from.position, chain: from.chain });
      return digestJson(expected) === digestJson(forked) || differs('the genesis records differ in what a fork keeps');
    }
    if (fork.kind === 'genesis') return differs('a second genesis record');
    const digest = eventDigest(source.event);
    chain = nextChain(chain, digest, source.state_digest);
    return digest === eventDigest(fork.event) || differs(`the event is not that of ${from.session_id}`);
  }

  return {
    add(source, fork) {
      if (fault !== null || from === undefined) return false;
      if (source === null || fork === null) {
        return differs(`the ${source === null ? 'source' : 'fork'} ends here, before they part at ${from.position}`);
      }
      if (!compare(source, fork)) return false;
      position += 1;
      if (position < (from.position as number)) return true;
      return chain === from.chain
        ? false
        : differs(`${from.session_id} has another chain value here than the fork says`);
    },
    fault: () => fault,
  };
}
