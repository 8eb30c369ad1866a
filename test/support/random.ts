// Seeded random numbers, and how often random loops run.
export { type Random, randomFrom } from '../../src/testing/random.ts';

/** How often a random loop runs: `rounds` times the environment variable `REFOLD_TEST_ROUNDS`. */
export function roundsOf(rounds: number): number {
  const factor = Number(process.env['REFOLD_TEST_ROUNDS'] ?? '1');
  return Number.isFinite(factor) && factor > 0 ? Math.ceil(rounds * factor) : rounds;
}

/** Every order of the values. */
export function permutations<T>(values: readonly T[]): readonly (readonly T[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]));
}
