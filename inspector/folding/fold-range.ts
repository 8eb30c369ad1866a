// Folds a part of a stream again, from a state that was kept.
import { versionAfter } from '../../schemas/record.ts';
import { type FoldedEvent, type ReplayStart, newReplayer } from '../../src/core/index.ts';
import type { RecordSource } from '../records/record-source.ts';
import { Refused } from './refused.ts';
import type { Slices } from './slices.ts';

export interface Range {
  /** A kept state at or before `from`. */
  readonly start: ReplayStart;
  readonly from: number;
  readonly to: number;
  readonly statesOnly: boolean;
}

/** Calls `visit` with the events from one position to before another. Throws {@link Refused} when they are others now. */
export async function foldRange(
  source: RecordSource,
  { start, from, to, statesOnly }: Range,
  visit: (folded: FoldedEvent) => void,
  slices: Slices,
): Promise<void> {
  const replayer = newReplayer(
    (folded) => {
      if (folded.position >= from && folded.position < to) visit(folded);
    },
    { from: start, statesOnly },
  );
  for await (const commits of source.commitsFrom(start.state.version)) {
    for (const commit of commits) {
      if (!replayer.add(commit)) {
        const message = `the source has other events now than when it was first read: ${replayer.result().divergence?.message}`;
        throw new Refused({ code: 'unreadable', message, advice: 'Open it again.' });
      }
      if (versionAfter(commit) >= to) return;
      await slices.breathe();
    }
  }
}
