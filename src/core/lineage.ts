// Checks the claim in the genesis record of a fork: the first events are those of its source, in the same commits, and the
// chain value is the source's after the last commit that is shared whole. The chain binds the recorded states of the source,
// so nothing is folded here.
import { digestJson } from '../../schemas/canonical.ts';
import type { Genesis } from '../../schemas/genesis.ts';
import type { Digest } from '../../schemas/ids.ts';
import { type CommitRecord, type GenesisRecord, type StreamRecord, versionAfter } from '../../schemas/record.ts';
import { eventDigest, genesisDigest, nextChain } from './chain.ts';
import { forkedGenesis } from './copies/fork.ts';

/** The position at which a fork and its source differ too early; -1 is the genesis record. */
export interface LineageFault {
  readonly position: number;
  readonly message: string;
}

export interface LineageCheck {
  /** Takes the next record of both, null when a stream has ended. False when no more are needed. */
  add(source: StreamRecord | null, fork: StreamRecord | null): boolean;
  /** The first fault; null while both are equal. */
  fault(): LineageFault | null;
}

export function newLineageCheck(forked: Genesis): LineageCheck {
  const { forked_from: from } = forked;
  const shared = from?.position ?? 0;
  let position = -1;
  let chain: Digest | null = null;
  let fault: LineageFault | null = null;

  const differs = (message: string, at: number = position): false => {
    fault = { position: at, message };
    return false;
  };

  function addGenesis({ genesis, state_digest }: GenesisRecord): boolean {
    if (from === undefined) return differs('the stream is not a fork');
    const { session_id } = forked;
    const expected = forkedGenesis(genesis, { session_id, at: shared, chain: from.chain });
    if (digestJson(expected) !== digestJson(forked)) {
      return differs('the genesis records differ in a field that a fork must keep');
    }
    chain = nextChain(genesisDigest(genesis), [], state_digest);
    position = 0;
    return shared > 0 || endsAt(chain);
  }

  /** Compares the commits as far as they are shared. */
  function addCommit(before: Digest, source: CommitRecord, fork: CommitRecord): boolean {
    const whole = versionAfter(source) <= shared;
    const count = whole ? source.events.length : shared - position;
    const digests = source.events.map(eventDigest);
    for (const [index, digest] of digests.slice(0, count).entries()) {
      const own = fork.events[index];
      if (own === undefined)
        return differs('the commit of the fork ends here; the events of its source go on', position + index);
      if (eventDigest(own) !== digest) return differs(`the event is not that of ${from?.session_id}`, position + index);
    }
    if (whole && fork.events.length !== count) {
      return differs(`the commit of ${from?.session_id} ends here; that of the fork goes on`, position + count);
    }
    const linked = nextChain(before, digests, source.state_digest);
    chain = whole ? linked : before;
    position += count;
    return position < shared || endsAt(chain);
  }

  const endsAt = (value: Digest): false =>
    value === from?.chain
      ? false
      : differs(
          `the chain value of ${from?.session_id} here is not the one in the genesis record of the fork`,
          position - 1,
        );

  return {
    add(source, fork) {
      if (fault !== null || from === undefined) return false;
      if (source === null || fork === null) {
        return differs(`the ${source === null ? 'source' : 'fork'} ends here, before the fork point ${from.position}`);
      }
      if (source.kind === 'package' && fork.kind === 'package') return true;
      if (chain === null) {
        if (source.kind === 'genesis' && fork.kind === 'genesis') return addGenesis(source);
        return differs('the source and the fork do not begin with the same kinds of records');
      }
      if (source.kind === 'commit' && fork.kind === 'commit') return addCommit(chain, source, fork);
      return differs('the source or the fork has a second beginning here');
    },
    fault: () => fault,
  };
}
