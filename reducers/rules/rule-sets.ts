// Every rule set that this version knows, by number. A released set is never edited; the next one gets the next number.
import { SHELL_READS_1 } from '../shell/read-table.ts';
import type { RuleSet } from './rule-set.ts';
import { TEXTS_1 } from './texts-1.ts';

export const RULE_SETS: Readonly<Record<number, RuleSet>> = {
  1: {
    rules: 1,
    since: '0.2.0',
    texts: TEXTS_1,
    shellReads: SHELL_READS_1,
    workflows: ['permissions.check', 'permissions.describe', 'tools.find'],
  },
};
