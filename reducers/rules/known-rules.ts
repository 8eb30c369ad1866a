// Looks up rule sets: those of a session, the newest, and why a record that names others is refused.
import { type Rejection, invariant, reject } from '../../schemas/rejection.ts';
import type { SessionState } from '../../schemas/state.ts';
import type { RuleSet } from './rule-set.ts';
import { RULE_SETS } from './rule-sets.ts';

/** The rule set of a number; null when this version does not know it. */
export const knownRules = (rules: number): RuleSet | null =>
  Object.hasOwn(RULE_SETS, rules) ? (RULE_SETS[rules] as RuleSet) : null;

/** The rules that a session folds by now. */
export function rulesOf({ rules }: Pick<SessionState, 'rules'>): RuleSet {
  const known = knownRules(rules);
  invariant(known !== null, `a state names rules that are known, not ${rules}`);
  return known;
}

/** The rules of a new session. */
export const newestRules = (): RuleSet => rulesOf({ rules: Math.max(...Object.keys(RULE_SETS).map(Number)) });

/** A record that names rules, and the version that they are known since. */
export interface NamesRules {
  readonly rules: number;
  readonly since: string;
}

/** Null when this version knows the rules, since the version that the record gives. */
export function findRulesFault({ rules, since }: NamesRules): Rejection | null {
  const known = knownRules(rules);
  if (known === null) {
    return reject('rules_unknown', '/rules', `rules ${rules} are known since refold ${since}; update refold`);
  }
  if (known.since === since) return null;
  return reject('rules_unknown', '/since', `rules ${rules} are known since refold ${known.since}, not ${since}`);
}
