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

/** Claude from 4.6 on decides itself how much to think; older ones need a budget of tokens. */
export function thinksAdaptively(model: string): boolean {
  const found = /claude-(?:[a-z]+-)?([0-9]{1,2})(?:-([0-9]{1,2}))?(?![0-9])/i.exec(model);
  if (found === null) return false;
  const major = Number(found[1]);
  const minor = Number(found[2] ?? 0);
  return major > 4 || (major === 4 && minor >= 6);
}
