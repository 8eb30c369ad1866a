// For each call, the set of earlier calls it comes after, as bits: one row per call, from its first word with a bit. All
// rows are in one growing array, because ten thousand small arrays cost more to collect than to fill.

export interface ReachRows {
  /** Adds the row of the next call: its predecessors and everything they come after. */
  push(preds: readonly number[]): void;
  /** The candidates that no other candidate comes after; ascending, without repeats. */
  minimal(candidates: readonly number[]): readonly number[];
}

export function newReachRows(): ReachRows {
  let words = new Uint32Array(16);
  let used = 0;
  /** Row i holds the words from `first[i]` on; it begins at `offsets[i]` and ends where the next row begins. */
  const offsets: number[] = [];
  const first: number[] = [];

  function reserve(count: number): void {
    if (used + count <= words.length) return;
    const larger = new Uint32Array(2 * (used + count));
    larger.set(words);
    words = larger;
  }

  /** Adds row `call` to `target`, in which word `base` is at index `at`. */
  function addRow(call: number, target: Uint32Array, at: number, base: number): void {
    const from = offsets[call] as number;
    const end = offsets[call + 1] ?? used;
    const shift = at + (first[call] as number) - base - from;
    for (let word = from; word < end; word += 1) {
      target[word + shift] = (target[word + shift] as number) | (words[word] as number);
    }
  }

  return {
    push(preds) {
      let base = Infinity;
      let last = -1;
      for (const pred of preds) {
        const word = pred >>> 5;
        base = Math.min(base, first[pred] as number, word);
        last = Math.max(last, word);
      }
      const length = last + 1 - (last < 0 ? 0 : base);
      reserve(length);
      const at = used;
      for (const pred of preds) {
        addRow(pred, words, at, base);
        const word = at + (pred >>> 5) - base;
        words[word] = (words[word] as number) | (1 << (pred & 31));
      }
      offsets.push(at);
      first.push(last < 0 ? offsets.length >>> 5 : base);
      used = at + length;
    },

    minimal(candidates) {
      if (candidates.length < 2) return candidates;
      const newestFirst = Uint32Array.from(candidates).sort().reverse();
      const covered = new Uint32Array(((newestFirst[0] as number) >>> 5) + 1);
      const kept: number[] = [];
      for (const candidate of newestFirst) {
        const word = candidate >>> 5;
        const bit = 1 << (candidate & 31);
        if (((covered[word] as number) & bit) !== 0) continue;
        covered[word] = (covered[word] as number) | bit;
        kept.push(candidate);
        addRow(candidate, covered, 0, 0);
      }
      return kept.reverse();
    },
  };
}
