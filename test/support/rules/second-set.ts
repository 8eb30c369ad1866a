// A second rule set for tests, which marks every text that it writes, has no workflow but one, and reads files with
// another tool. A test file replaces reducers/rules/rule-sets.ts by `withSecondSet` and belongs to ISOLATED of
// vitest.config.ts.
import type { RuleSet, TextKey } from '../../../reducers/rules/rule-set.ts';

export const MARK = '[2] ';

export const SECOND = { rules: 2, since: '0.3.0' } as const;

const marked = (texts: RuleSet['texts']): RuleSet['texts'] =>
  Object.fromEntries(Object.entries(texts).map(([key, text]) => [key, MARK + text])) as Record<TextKey, string>;

function secondSet(first: RuleSet): RuleSet {
  const { shellReads, texts } = first;
  const reads = { ...shellReads.reads, readText: { ...shellReads.reads.readText, fixed: { encoding: 'utf8' } } };
  return { ...SECOND, texts: marked(texts), shellReads: { ...shellReads, reads }, workflows: ['permissions.check'] };
}

interface Sets {
  readonly RULE_SETS: Readonly<Record<number, RuleSet>>;
}

/** Every rule set of the module, and the second one: a table that a test may change. */
export const withSecondSet = (module: Sets): Sets => ({
  RULE_SETS: { ...module.RULE_SETS, 2: secondSet(module.RULE_SETS[1] as RuleSet) },
});
