// The bug that is planted now, and the description of a bug.
import type { Law } from '../../../../src/testing/laws/laws.ts';
import type { SimulatedBridge, StartEngine } from '../../../../src/testing/index.ts';

export const planted = { bug: '' };

export interface Bug {
  /** A seed that shows the bug. When it no longer does, the test tries all others and prints the first that does. */
  readonly seed: number;
  /** The law that the bug breaks first at such a seed. */
  readonly breaks: Law;
  readonly bridge?: SimulatedBridge;
  readonly startEngine?: StartEngine;
  readonly plant?: () => void;
}

export type Bugs = Readonly<Record<string, Bug>>;
