// Ready-made consent policies, as data (DESIGN section 8, "destructive: run with undo, or ask?").
import type { ConsentPolicy } from '../../schemas/consent.ts';
import { freezeJson } from '../../schemas/json.ts';

const preset = (modes: ConsentPolicy['modes']): ConsentPolicy => ({ modes, tools: {} });

/** Presets by name. */
export const CONSENT_PRESETS = freezeJson({
  /** What a session has unless it is given another. */
  default: preset({ destructive: 'ask', external: 'allow', local: 'ask', read: 'allow', safe_write: 'allow' }),
  /** Steerable Tools Spec, "ToolMode": only what touches the user's machine asks. */
  steerable: preset({ destructive: 'allow', external: 'allow', local: 'ask', read: 'allow', safe_write: 'allow' }),
  /** September, "Confirm before destructive": what cannot be taken back, and what is sent out, asks. */
  september: preset({ destructive: 'ask', external: 'ask', local: 'allow', read: 'allow', safe_write: 'allow' }),
  /** Nothing but reading happens without a person. */
  careful: preset({ destructive: 'ask', external: 'ask', local: 'ask', read: 'allow', safe_write: 'ask' }),
  /** Nothing asks: for sandboxes and tests. */
  allow_all: preset({ destructive: 'allow', external: 'allow', local: 'allow', read: 'allow', safe_write: 'allow' }),
  /** Nothing but reading happens at all. */
  read_only: preset({ destructive: 'deny', external: 'deny', local: 'deny', read: 'allow', safe_write: 'deny' }),
} satisfies Readonly<Record<string, ConsentPolicy>>);
export type ConsentPreset = keyof typeof CONSENT_PRESETS;
