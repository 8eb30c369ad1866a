// Consent policies by name, as data (docs/design.md, "Consent").
import type { ConsentPolicy } from '../../schemas/consent.ts';
import { freezeJson } from '../../schemas/json.ts';

const preset = (modes: ConsentPolicy['modes']): ConsentPolicy => ({ modes, tools: {} });

/** Presets by name. */
export const CONSENT_PRESETS = freezeJson({
  /** The policy of a session that is given no other. */
  default: preset({ destructive: 'ask', external: 'allow', local: 'ask', read: 'allow', safe_write: 'allow' }),
  /** Steerable Tools Spec, "ToolMode": only tools of mode `local`, on the user's machine, ask. */
  steerable: preset({ destructive: 'allow', external: 'allow', local: 'ask', read: 'allow', safe_write: 'allow' }),
  /** September, "Confirm before destructive": tools that cannot be reverted ask, and tools that send data out. */
  september: preset({ destructive: 'ask', external: 'ask', local: 'allow', read: 'allow', safe_write: 'allow' }),
  /** Everything but reading asks a person. */
  careful: preset({ destructive: 'ask', external: 'ask', local: 'ask', read: 'allow', safe_write: 'ask' }),
  /** Nothing asks. For sandboxes and tests. */
  allow_all: preset({ destructive: 'allow', external: 'allow', local: 'allow', read: 'allow', safe_write: 'allow' }),
  /** Everything but reading is denied. */
  read_only: preset({ destructive: 'deny', external: 'deny', local: 'deny', read: 'allow', safe_write: 'deny' }),
} satisfies Readonly<Record<string, ConsentPolicy>>);
export type ConsentPreset = keyof typeof CONSENT_PRESETS;
