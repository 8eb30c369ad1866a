// The wait before a temporary failure is retried: a capped exponential in integers, multiplied by the jitter that the edge
// drew and recorded.
import type { RetryPolicy } from '../schemas/run.ts';

export interface FailedAttempt {
  readonly retryable?: boolean;
  /** Thousandths; 1,000 when none was drawn. */
  readonly jitter_permille?: number;
  /** The shortest wait that the provider asked for. */
  readonly retry_after_ms?: number;
}

/** The wait after the n-th failure (1-based), in milliseconds; null when it must not be retried. */
export function retryDelay(policy: RetryPolicy, failures: number, failed: FailedAttempt): number | null {
  if (failed.retryable !== true || failures >= policy.attempts_max) return null;
  // The exponent is bounded so that the power stays exact; every cap is below 2^40 times a base of 1.
  const wait = Math.min(policy.base_ms * 2 ** Math.min(failures - 1, 40), policy.cap_ms);
  const drawn = Math.floor((wait * (failed.jitter_permille ?? 1_000)) / 1_000);
  return Math.max(drawn, failed.retry_after_ms ?? 0);
}
