// A small generator of numbers (mulberry32), so that a loop of random cases can be run again from its seed.

export interface Random {
  /** An integer from 0 to `below` - 1. */
  below(below: number): number;
  /** True once in `times`. */
  oneIn(times: number): boolean;
  pick<T>(values: readonly T[]): T;
}

export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  };
  return {
    below,
    oneIn: (times) => below(times) === 0,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
  };
}

/** How often a random loop runs: `rounds`, times the environment's `REFOLD_TEST_ROUNDS`. */
export function roundsOf(rounds: number): number {
  const factor = Number(process.env['REFOLD_TEST_ROUNDS'] ?? '1');
  return Number.isFinite(factor) && factor > 0 ? Math.ceil(rounds * factor) : rounds;
}

/** Every order of the values. */
export function permutations<T>(values: readonly T[]): readonly (readonly T[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]));
}
