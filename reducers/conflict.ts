// The rule of conflicts, for one pair of planned calls: why they must not run at the same time (docs/design.md, law 11).
// The explanation of a plan and the checks of the test kit use it; the planner finds all pairs with
// reducers/conflict-order.ts, which keeps the same rule in a tree. test/reducers/planner-reference.test.ts compares them.
import type { PlannedToolCall } from '../schemas/plan.ts';
import type { Claim } from '../schemas/tool-call.ts';

/** Either call must run alone, or two of their claims overlap and one of them is a write. */
export type Conflict =
  | { readonly kind: 'runs_alone'; readonly earlier: boolean; readonly later: boolean }
  | { readonly kind: 'claims'; readonly earlier: Claim; readonly later: Claim };

type Side = Pick<PlannedToolCall, 'parallel_safe' | 'claims'>;

/** The conflict of two calls (of several overlapping claims, the first pair); null when both may run at the same time. */
export function conflictBetween(earlier: Side, later: Side): Conflict | null {
  if (!earlier.parallel_safe || !later.parallel_safe) {
    return { kind: 'runs_alone', earlier: !earlier.parallel_safe, later: !later.parallel_safe };
  }
  for (const first of earlier.claims) {
    const second = later.claims.find((claim) => writes(first, claim) && overlap(first.key, claim.key));
    if (second !== undefined) return { kind: 'claims', earlier: first, later: second };
  }
  return null;
}

const writes = (a: Claim, b: Claim): boolean => a.access === 'write' || b.access === 'write';

/** Keys overlap when they are equal or one is below the other. */
const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
