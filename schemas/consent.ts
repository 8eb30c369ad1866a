// Consent: which calls run by themselves, which a person is asked about, and which are refused (openboa "Permission
// policies"; Steerable Tools Spec, "ToolMode"; DESIGN section 8, "destructive: run with undo, or ask?").
import { type TypeOf, dictionary, integer, list, oneOf, shape, text } from './codec.ts';
import { ToolId } from './ids.ts';
import { APPROVAL_TTL_MS_MAX, GRANTS_MAX, TOOLS_MAX } from './limits.ts';
import { ToolMode } from './tool-mode.ts';

/** What a mode does by default. */
export const ModePolicy = oneOf('ModePolicy', ['allow', 'ask', 'deny']);
export type ModePolicy = TypeOf<typeof ModePolicy>;

/** What is set for one tool, whatever its mode does. `deny` wins over everything (DESIGN section 2, law 6). */
export const ToolPermission = oneOf('ToolPermission', ['always_allow', 'always_ask', 'deny']);
export type ToolPermission = TypeOf<typeof ToolPermission>;

/** The policy of one session: a table by mode, and exceptions by tool id. */
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
    /** How long a question stays open, in milliseconds; without it, for ever. */
    approval_ttl_ms: integer('approval_ttl_ms', 1, APPROVAL_TTL_MS_MAX),
  },
);
export type ConsentPolicy = TypeOf<typeof ConsentPolicy>;

/**
 * What a person allows for the rest of the session: every call of the tool, or those whose `argument` matches
 * `pattern` (`*` is any run of characters but `/` and white space, `**` any run; a value with a `..` segment never
 * matches).
 */
export const GrantScope = shape(
  'GrantScope',
  {},
  { argument: text('argument', { min: 1, max: 64 }), pattern: text('pattern', { min: 1, max: 1_024 }) },
);
export type GrantScope = TypeOf<typeof GrantScope>;

export const Grant = shape(
  'Grant',
  { tool_id: ToolId },
  { argument: text('argument', { min: 1, max: 64 }), pattern: text('pattern', { min: 1, max: 1_024 }) },
);
export type Grant = TypeOf<typeof Grant>;

/** Policy and grants, as state owns them. A session that was born without a policy asks nobody. */
export const ConsentState = shape('ConsentState', { policy: ConsentPolicy, grants: list(Grant, GRANTS_MAX) });
export type ConsentState = TypeOf<typeof ConsentState>;

/** Why a call asks, or why it does not although something would have it ask. */
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

/** The decision on one planned call, as its plan binds it. */
export const CallConsent = shape('CallConsent', {
  ask: oneOf('ask', ['person', 'nobody']),
  mode: ToolMode,
  reasons: list(ConsentReason, 8),
});
export type CallConsent = TypeOf<typeof CallConsent>;
