// A test session as the stream records that an export contains.
import {
  type Digest,
  type Genesis,
  type Position,
  type RecordedEvent,
  type StreamRecord,
  canonicalText,
} from '../../schemas/index.ts';
import { eventDigest, genesisChain, initialState, nextChain, stateDigest, step } from '../../src/core/index.ts';
import { mustBe } from '../../src/client/must.ts';

interface Stream {
  readonly genesis: Genesis;
  readonly events: readonly RecordedEvent[];
}

/** The genesis record, then one record per event, with the digests of the fold. */
export function recordsOf({ genesis, events }: Stream): readonly StreamRecord[] {
  let state = initialState(genesis);
  let chain: Digest = genesisChain(genesis);
  const records: StreamRecord[] = [{ kind: 'genesis', format: 1, genesis, state_digest: stateDigest(state), chain }];
  for (const [index, event] of events.entries()) {
    const stepped = mustBe(step(state, event));
    ({ state } = stepped);
    const [event_digest, state_digest] = [eventDigest(event), stepped.stateDigest];
    chain = nextChain(chain, event_digest, state_digest);
    records.push({ kind: 'event', position: index as Position, event, event_digest, state_digest, chain });
  }
  return records;
}

export const linesOf = (records: readonly StreamRecord[]): string =>
  records.map((record) => `${canonicalText(record)}\n`).join('');
