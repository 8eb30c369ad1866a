// The seeds of the continuous check: halves, so that two workers share them.
import { test } from 'vitest';
import { checkBridge } from '../../../src/testing/index.ts';
import { roundsOf } from '../random.ts';
import { refoldBridge } from './refold-bridge.ts';

/** Seeds of each half. */
const HALF = 2_500;

/** Defines the test of one half, 0 or 1. The check throws for the first seed that breaks a law. */
export function testSeeds(half: 0 | 1): void {
  const seeds = roundsOf(HALF);
  const from = 1 + half * seeds;
  // One seed alone is asked for with REFOLD_SEED.
  test(`every law holds for ${seeds} seeds from ${from}`, { timeout: 1_800_000 }, async ({ expect }) => {
    const command = (seed: number): string => `npm run simulate -- --seed ${seed}`;
    await expect(checkBridge(refoldBridge, { from, seeds, command })).resolves.toBeUndefined();
  });
}
