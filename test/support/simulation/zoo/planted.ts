// Which bug is planted now, and what a bug of the zoo says of itself.
import type { SimulatedBridge, StartEngine } from '../../../../src/testing/index.ts';

export const planted = { bug: '' };

export interface Bug {
  /** A seed that shows it. When it does so no longer, all others are tried, and the first is printed. */
  readonly seed: number;
  readonly bridge?: SimulatedBridge;
  readonly startEngine?: StartEngine;
  readonly plant?: () => void;
}

export type Bugs = Readonly<Record<string, Bug>>;
