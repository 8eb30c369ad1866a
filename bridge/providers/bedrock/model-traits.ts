// What Converse takes depends on the model behind it. Only its name tells which one that is; an inference profile of an account
// has an opaque name, and is treated as a model of no known vendor.
import type { IdRule } from '../api/wire-ids.ts';

export const isClaude = (model: string): boolean => /claude/i.test(model);

/** The models whose results may have a `status`, images and documents; others refuse the whole request. */
export const takesRichResults = (model: string): boolean => isClaude(model) || /amazon\.nova|^nova/i.test(model);

/** Reasoning without a signature goes back only to models that do not sign it, and accept it. */
export const needsSignature = (model: string): boolean => isClaude(model) || /deepseek/i.test(model);

/**
 * Converse takes dots and colons in ids, which some models write. Claude itself does not take them, and an inference profile
 * may stand for a Claude.
 */
export const idRuleOf = (model: string): IdRule => ({
  alphabet: isClaude(model) || model.startsWith('arn:') ? /[A-Za-z0-9_-]/ : /[A-Za-z0-9_.:-]/,
  max: 64,
});
