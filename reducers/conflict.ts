// Why two planned calls may not run side by side (DESIGN section 4, "Planner"): the rule itself, for one pair. The
// planner finds the pairs without comparing all of them; this says of one pair what it is about.
import type { PlannedToolCall } from '../schemas/plan.ts';
import type { Claim } from '../schemas/tool-call.ts';

/** Either call runs alone, or two of their claims overlap and one is a write. */
export type Conflict =
  | { readonly kind: 'runs_alone'; readonly earlier: boolean; readonly later: boolean }
  | { readonly kind: 'claims'; readonly earlier: Claim; readonly later: Claim };

type Side = Pick<PlannedToolCall, 'parallel_safe' | 'claims'>;

/** The conflict of two calls, or null when they may run side by side. Of several claims the first pair is told. */
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

/** A key covers itself and every key below it. */
const overlap = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`) || b.startsWith(`${a}/`);
