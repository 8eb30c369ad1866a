// The states that are kept of a stream, one for every 256 events, from which any other is folded again. States are immutable
// and share what did not change between them.
import type { ReplayStart } from '../../src/core/index.ts';

/** One state is kept for so many events; a commit is never split, so two may be up to a commit further apart. */
export const KEPT_EVERY = 256;

export interface KeptStates {
  /** Keeps the state after a commit, when the last one kept is far enough behind. */
  add(start: ReplayStart): void;
  /** The last kept state with at most so many events; undefined before the genesis record. */
  before(at: number): ReplayStart | undefined;
  readonly length: number;
}

export function newKeptStates(): KeptStates {
  const kept: ReplayStart[] = [];
  const bucketOf = ({ state }: ReplayStart): number => Math.floor(state.version / KEPT_EVERY);
  return {
    get length() {
      return kept.length;
    },
    add(start) {
      const last = kept.at(-1);
      if (last === undefined || bucketOf(start) > bucketOf(last)) kept.push(start);
    },
    before(at) {
      let [low, high] = [0, kept.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if ((kept[middle]?.state.version ?? 0) <= at) low = middle + 1;
        else high = middle;
      }
      return kept[low - 1];
    },
  };
}
