// Seeded random numbers, and how many rounds a random loop runs.
import * as fc from 'fast-check';

export { type Random, randomFrom } from '../../src/testing/random.ts';

/** The value of REFOLD_TEST_ROUNDS at which a loop runs at its full size. 1, the default, is the sample of `npm test`. */
const FULL_SIZE = 10;

const factor = (): number => Number(process.env['REFOLD_TEST_ROUNDS'] ?? '1');

// The sample is the same in every run; a soak draws new seeds.
if (factor() === 1) fc.configureGlobal({ seed: 1 });

/**
 * How many rounds a random loop runs: `sample` in `npm test`, `full` in a soak (`npm run soak`), and in proportion for other
 * values of `REFOLD_TEST_ROUNDS`.
 */
export function roundsOf(sample: number, full = FULL_SIZE * sample): number {
  const scale = factor();
  if (!Number.isFinite(scale) || scale <= 0) return sample;
  if (scale <= 1) return Math.ceil(sample * scale);
  return Math.ceil(sample + ((full - sample) * (scale - 1)) / (FULL_SIZE - 1));
}

/** Every order of the values. */
export function permutations<T>(values: readonly T[]): readonly (readonly T[])[] {
  if (values.length < 2) return [values];
  return values.flatMap((value, index) => permutations(values.toSpliced(index, 1)).map((rest) => [value, ...rest]));
}
