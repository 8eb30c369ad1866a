// How a record names rules (docs/design.md, "Rules").
import { integer, text } from './codec.ts';

export const namesRules = {
  /** The number of a rule set. */
  rules: integer('rules', 1),
  /** The first version of refold that knows these rules, such as `0.2.0`; a refusal by an older one quotes it. */
  since: text('since', { min: 5, max: 32, pattern: /^\d+\.\d+\.\d+$/ }),
} as const;
