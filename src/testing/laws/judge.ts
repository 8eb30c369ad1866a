// Where the laws meet: whoever sees one broken says so here, and the simulation ends.
import type { SimTime } from '../sim-time.ts';

/** The laws of the design, by number where they have one; see the README, "Testing". */
export type Law =
  | 'replay identity'
  | 'effects from state'
  | 'durable first'
  | 'settle once'
  | 'pairing'
  | 'deny wins'
  | 'bounded'
  | 'approvals bound'
  | 'only the plan runs'
  | 'no conflicting calls overlap'
  | 'runs at most once'
  | 'honest reports'
  | 'nothing is lost'
  | 'undone once'
  | 'leases are fenced'
  | 'the living keep their calls'
  | 'every run ends';

export interface Violation {
  readonly law: Law;
  readonly message: string;
  /** Milliseconds since the simulation began. */
  readonly atMs: number;
}

export interface Judge {
  /** The first is what matters: what follows may be its consequence. */
  readonly violations: readonly Violation[];
  fail(law: Law, message: string): void;
  /** Fails unless the condition holds. */
  hold(condition: boolean, law: Law, message: () => string): void;
}

export function newJudge(time: SimTime): Judge {
  const violations: Violation[] = [];
  const fail = (law: Law, message: string): void => {
    violations.push({ law, message, atMs: time.passedMs() });
  };
  return {
    violations,
    fail,
    hold: (condition, law, message) => {
      if (!condition) fail(law, message());
    },
  };
}
