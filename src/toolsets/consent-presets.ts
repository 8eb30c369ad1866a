// Ready-made consent policies, as data (DESIGN section 8, "destructive: run with undo, or ask?").
import type { ConsentPolicy } from '../../schemas/consent.ts';
import { freeze } from 'immer';

const preset = (modes: ConsentPolicy['modes']): ConsentPolicy => ({ modes, tools: {} });

/** Presets by name. */
export const CONSENT_PRESETS = freeze(
  {
    /** What a session has unless it is given another. */
    default: preset({ read: 'allow', safe_write: 'allow', destructive: 'ask', local: 'ask', external: 'allow' }),
    /** Steerable Tools Spec, "ToolMode": only what touches the user's machine asks. */
    steerable: preset({ read: 'allow', safe_write: 'allow', destructive: 'allow', local: 'ask', external: 'allow' }),
    /** September, "Confirm before destructive": what cannot be taken back, and what is sent out, asks. */
    september: preset({ read: 'allow', safe_write: 'allow', destructive: 'ask', local: 'allow', external: 'ask' }),
    /** Nothing but reading happens without a person. */
    careful: preset({ read: 'allow', safe_write: 'ask', destructive: 'ask', local: 'ask', external: 'ask' }),
    /** Nothing asks: for sandboxes and tests. */
    allow_all: preset({ read: 'allow', safe_write: 'allow', destructive: 'allow', local: 'allow', external: 'allow' }),
    /** Nothing but reading happens at all. */
    read_only: preset({ read: 'allow', safe_write: 'deny', destructive: 'deny', local: 'deny', external: 'deny' }),
  } satisfies Readonly<Record<string, ConsentPolicy>>,
  true,
);
export type ConsentPreset = keyof typeof CONSENT_PRESETS;
