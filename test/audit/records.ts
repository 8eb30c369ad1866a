// A test session as the stream records that an export contains.
import {
  type CommitRecord,
  type Digest,
  type Genesis,
  type Position,
  type RecordedEvent,
  type StreamRecord,
  type ToolPackage,
  canonicalText,
  versionAfter,
} from '../../schemas/index.ts';
import {
  type FoldedEvent,
  eventDigest,
  genesisChain,
  initialState,
  newReplayer,
  nextChain,
  packageDigest,
  stateDigest,
} from '../../src/core/index.ts';
import { foldEvent } from '../../src/core/step.ts';
import { mustBe } from '../../src/client/must.ts';

interface Stream {
  readonly genesis: Genesis;
  readonly tool_package: ToolPackage;
  readonly events: readonly RecordedEvent[];
}

/**
 * The tool package, the genesis record, then commits of these numbers of events; every event beyond them is a commit of its
 * own.
 */
export function recordsOf({ genesis, tool_package, events }: Stream, sizes: readonly number[] = []): StreamRecord[] {
  let state = initialState(genesis, tool_package);
  let chain: Digest = genesisChain(state);
  const records: StreamRecord[] = [
    { kind: 'package', digest: packageDigest(tool_package), tool_package },
    { kind: 'genesis', format: 2, genesis, state_digest: stateDigest(state), chain },
  ];
  for (let position = 0, commit = 0; position < events.length; commit += 1) {
    const group = events.slice(position, position + (sizes[commit] ?? 1));
    for (const event of group) ({ state } = mustBe(foldEvent(state, event)));
    const state_digest = stateDigest(state);
    chain = nextChain(chain, group.map(eventDigest), state_digest);
    records.push({ kind: 'commit', position: position as Position, events: group, state_digest, chain });
    position += group.length;
  }
  return records;
}

/** Each event of a stream with the states around it. Throws when the stream does not verify. */
export function foldedIn(records: readonly StreamRecord[]): readonly FoldedEvent[] {
  const folded: FoldedEvent[] = [];
  const replayer = newReplayer((event) => folded.push(event));
  for (const record of records) replayer.add(record);
  const { divergence } = replayer.result();
  if (divergence !== null) throw new Error(`position ${divergence.position}: ${divergence.message}`);
  return folded;
}

export const commitsIn = (records: readonly StreamRecord[]): readonly CommitRecord[] =>
  records.flatMap((record) => (record.kind === 'commit' ? [record] : []));

/** The chain value after the last commit that ends at or before a number of events. */
export function chainAt(records: readonly StreamRecord[], version: number): Digest {
  const chains = records.flatMap((record) => {
    if (record.kind === 'package') return [];
    return record.kind === 'genesis' || versionAfter(record) <= version ? [record.chain] : [];
  });
  const last = chains.at(-1);
  if (last === undefined) throw new Error('no genesis record');
  return last;
}

export const linesOf = (records: readonly StreamRecord[]): string =>
  records.map((record) => `${canonicalText(record)}\n`).join('');
