// Collects the laws that a simulation breaks. The simulation ends at the first violation.
import type { SimTime } from '../sim-time.ts';
import type { Law } from './laws.ts';

export interface Violation {
  /** The name of a {@link Law}, or of a law that the test has added. */
  readonly law: string;
  readonly message: string;
  /** Milliseconds since the simulation began. */
  readonly atMs: number;
  /** What the bridge threw, when it ended with an error. */
  readonly cause?: unknown;
}

export interface Judge {
  /** In the order in which they were found. Later ones may follow from the first. */
  readonly violations: readonly Violation[];
  fail(law: Law, message: string): void;
  /** Fails a law that the test has added. */
  failOwn(name: string, message: string): void;
  /** A process of the simulated world ended with an error. */
  processFailed(name: string, error: unknown): void;
  /** Fails unless the condition holds. */
  check(condition: boolean, law: Law, message: () => string): void;
}

export function newJudge(time: SimTime): Judge {
  const violations: Violation[] = [];
  const fail = (law: string, message: string): void => {
    violations.push({ law, message, atMs: time.passedMs() });
  };
  return {
    violations,
    fail,
    failOwn: fail,
    processFailed(name, cause) {
      const message = `${name} failed: ${String(cause)}`;
      violations.push({ law: 'every run ends', message, atMs: time.passedMs(), cause });
    },
    check: (condition, law, message) => {
      if (!condition) fail(law, message());
    },
  };
}
