// Where the laws meet: whoever sees one broken says so here, and the simulation ends.
import type { SimTime } from '../sim-time.ts';

/** The laws of the design; see the README, "Test your agent, your tools and your bridge". */
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
  | 'tried again when due'
  | 'honest reports'
  | 'nothing is lost'
  | 'undone once'
  | 'leases are fenced'
  | 'the living keep their calls'
  | 'every run ends';

export interface Violation {
  /** A {@link Law}, or the name of a law of one's own. */
  readonly law: string;
  readonly message: string;
  /** Milliseconds since the simulation began. */
  readonly atMs: number;
  /** What a bridge threw that gave up. */
  readonly cause?: unknown;
}

export interface Judge {
  /** The first is what matters: what follows may be its consequence. */
  readonly violations: readonly Violation[];
  fail(law: Law, message: string): void;
  /** Fails one of the laws that whoever simulates has added. */
  failOwn(name: string, message: string): void;
  /** A process of the world came to an end of its own making. */
  gaveUp(name: string, error: unknown): void;
  /** Fails unless the condition holds. */
  hold(condition: boolean, law: Law, message: () => string): void;
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
    gaveUp(name, cause) {
      const message = `${name} gave up: ${String(cause)}`;
      violations.push({ law: 'every run ends', message, atMs: time.passedMs(), cause });
    },
    hold: (condition, law, message) => {
      if (!condition) fail(law, message());
    },
  };
}
