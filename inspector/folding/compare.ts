// Where two sources first differ. Both are read again, record by record.
import type { StreamRecord } from '../../schemas/record.ts';
import { newStreamDiffer } from '../../src/core/index.ts';
import { IGNORED_IN_RECORDS, IGNORED_IN_STATE } from '../../src/core/diff-streams.ts';
import type { CompareWanted, Comparison } from '../protocol.ts';
import type { RecordSource } from '../records/record-source.ts';
import { newSlices } from './slices.ts';
import { PATHS_MAX, shownDiff } from './state-parts.ts';
import { shownFault } from './verdicts.ts';

export async function compareSources(
  sources: Readonly<Record<'a' | 'b', RecordSource>>,
  { a, b, strict, at }: CompareWanted,
  signal?: AbortSignal,
): Promise<Comparison> {
  const slices = newSlices(signal);
  const differ = newStreamDiffer({ strict, pathsMax: PATHS_MAX, ...(at === undefined ? {} : { at }) });
  const records = { a: oneByOne(sources.a), b: oneByOne(sources.b) };
  try {
    for (let stream = differ.wants(); stream !== null; stream = differ.wants()) {
      const next = await records[stream].next();
      differ.add(next.done === true ? null : next.value);
      await slices.breathe();
    }
  } finally {
    await records.a.return();
    await records.b.return();
  }
  const { first, stateAfterFirst, stateAtEnd, events, divergence } = differ.result();
  const isSame = stateAtEnd.differences.length + stateAtEnd.rest === 0;
  return {
    same: first === null && isSame && divergence === null,
    first: first === null ? null : { ...first, paths: shownDiff(first.paths) },
    state_after_first: stateAfterFirst === null ? null : shownDiff(stateAfterFirst),
    state_at_end: shownDiff(stateAtEnd),
    events,
    divergence:
      divergence === null
        ? null
        : { source: divergence.stream === 'a' ? a : b, fault: shownFault(divergence.divergence) },
    ignored: strict ? null : { records: IGNORED_IN_RECORDS, state: IGNORED_IN_STATE },
  };
}

async function* oneByOne(source: RecordSource): AsyncGenerator<StreamRecord, void> {
  for await (const records of source.records()) yield* records;
}
