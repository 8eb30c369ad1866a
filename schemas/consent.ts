// Consent: which calls run without a question, which wait for a person, and which are refused (openboa, "Permission
// policies"; Steerable Tools Spec, "ToolMode"; docs/design.md, "Consent").
import { type TypeOf, dictionary, integer, list, oneOf, shape, text } from './codec.ts';
import { Digest, ToolId } from './ids.ts';
import { APPROVAL_TTL_MS_MAX, GRANTS_MAX, TOOLS_MAX } from './limits.ts';
import { ToolMode } from './tool-mode.ts';

/** What happens to calls of one mode. */
export const ModePolicy = oneOf('ModePolicy', ['allow', 'ask', 'deny']);
export type ModePolicy = TypeOf<typeof ModePolicy>;

/** The setting for one tool; it overrides that of its mode. `deny` wins over everything (docs/design.md, law 6). */
export const ToolPermission = oneOf('ToolPermission', ['always_allow', 'always_ask', 'deny']);
export type ToolPermission = TypeOf<typeof ToolPermission>;

/** The policy of one session: a setting for each mode, and exceptions by tool id. */
export const ConsentPolicy = shape(
  'ConsentPolicy',
  {
    modes: shape('ModePolicies', {
      read: ModePolicy,
      safe_write: ModePolicy,
      destructive: ModePolicy,
      local: ModePolicy,
      external: ModePolicy,
    }),
    tools: dictionary(ToolId, ToolPermission, TOOLS_MAX),
  },
  {
    /** How long a question stays open, in milliseconds; absent for no limit. */
    approval_ttl_ms: integer('approval_ttl_ms', 1, APPROVAL_TTL_MS_MAX),
  },
);
export type ConsentPolicy = TypeOf<typeof ConsentPolicy>;

const argument = text('argument', { min: 1, max: 64 });
const pattern = text('pattern', { min: 1, max: 1_024 });

/**
 * What a person allows for the rest of the session, with an answer about one call: every call of its tool, or the calls
 * whose `argument` matches `pattern` and whose other arguments are those of this call. `*` matches any characters except
 * `/`, white space and control characters, `**` any characters. A value with a `..` segment never matches.
 */
export const GrantScope = shape('GrantScope', {}, { argument, pattern });
export type GrantScope = TypeOf<typeof GrantScope>;

/** A grant in force. It belongs to one definition of its tool. */
export const Grant = shape(
  'Grant',
  { tool_id: ToolId, tool_ref: Digest },
  {
    argument,
    pattern,
    /** With a pattern: the digest of the arguments of the call it was given for, with the granted one emptied. */
    others: Digest,
  },
);
export type Grant = TypeOf<typeof Grant>;

/** Policy and grants in the state. */
export const ConsentState = shape('ConsentState', { policy: ConsentPolicy, grants: list(Grant, GRANTS_MAX) });
export type ConsentState = TypeOf<typeof ConsentState>;

/** Why a call asks a person, is denied, or runs although a rule would have it ask. */
export const ConsentReason = oneOf('ConsentReason', [
  'mode_asks',
  'destructive_asks',
  'tool_asks',
  'session_asks',
  'session_allows',
  'granted',
  'approved_with_changes',
  'mode_denies',
  'destructive_denies',
  'session_denies',
]);
export type ConsentReason = TypeOf<typeof ConsentReason>;

/** The decision on one planned call; part of the plan. */
export const CallConsent = shape('CallConsent', {
  ask: oneOf('ask', ['person', 'none']),
  mode: ToolMode,
  reasons: list(ConsentReason, 8),
});
export type CallConsent = TypeOf<typeof CallConsent>;
