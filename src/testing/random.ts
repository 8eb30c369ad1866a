// A small seeded random number generator (mulberry32): the same seed gives the same numbers.

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
