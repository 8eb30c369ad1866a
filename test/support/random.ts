// Seeded random numbers, and how many rounds a random loop runs.
export { type Random, randomFrom } from '../../src/testing/random.ts';

/** The value of REFOLD_TEST_ROUNDS at which a loop runs at its full size. 1, the default, is the sample of `npm test`. */
const FULL_SIZE = 10;

/**
 * How many rounds a random loop runs: `sample` in `npm test`, `full` in a soak (`npm run soak`), and in proportion for other
 * values of `REFOLD_TEST_ROUNDS`.
 */
export function roundsOf(sample: number, full = FULL_SIZE * sample): number {
  const factor = Number(process.env['REFOLD_TEST_ROUNDS'] ?? '1');
  if (!Number.isFinite(factor) || factor <= 0) return sample;
  if (factor <= 1) return Math.ceil(sample * factor);
  return Math.ceil(sample + ((full - sample) * (factor - 1)) / (FULL_SIZE - 1));
}

/** Every order of the values. */
export function permutations<T>(values: readonly T[]): readonly (readonly T[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]));
}
