// The simulated seeds, in two halves so that two workers share them.
import { test } from 'vitest';
import { checkBridge } from '../../../src/testing/index.ts';
import { roundsOf } from '../random.ts';
import { refoldBridge } from './refold-bridge.ts';

/** How many seeds each half simulates in `npm test`, and in a soak. */
const HALF = 45;
const HALF_OF_ALL = 2_500;

/** Defines the test of one half. The check throws for the first seed that breaks a law. */
export function testSeeds(half: 0 | 1): void {
  const seeds = roundsOf(HALF, HALF_OF_ALL);
  const from = 1 + half * seeds;
  // REFOLD_SEED simulates that seed alone.
  test(`every law holds for ${seeds} seeds from ${from}`, { timeout: 1_800_000 }, async ({ expect }) => {
    const command = (seed: number): string => `npm run simulate -- --seed ${seed}`;
    await expect(checkBridge(refoldBridge, { from, seeds, command })).resolves.toBeUndefined();
  });
}
