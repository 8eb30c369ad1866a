// Consent: what people are shown of calls and allow: which calls run without a question, which wait for a person, and which are refused (openboa, "Permission
// policies"; Steerable Tools Spec, "ToolMode"; docs/design.md, "Consent").
import { digestJson } from './canonical.ts';
import { type TypeOf, dictionary, either, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { InlineText } from './content.ts';
import { Digest, ToolId } from './ids.ts';
import {
  APPROVAL_TTL_MS_MAX,
  EXCERPT_CHARS,
  GRANTS_MAX,
  MESSAGE_CHARS_MAX,
  PATH_CHARS_MAX,
  PREVIEW_DIFF_BYTES_MAX,
  PREVIEW_FILES_MAX,
  TOOLS_MAX,
} from './limits.ts';
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

// What a call would do, as the bridge that would run it found. It is recorded while the call waits for a person, whose answer
// may name it by its digest.

/** A file that the call would write or remove. */
export const PreviewedFile = shape('PreviewedFile', {
  /** Relative to the workspace, without `.` and `..`. */
  path: text('path', { min: 1, max: PATH_CHARS_MAX }),
  /** The digest of its content when the preview was made; null when there was no file. */
  before: nullable(Digest),
});
export type PreviewedFile = TypeOf<typeof PreviewedFile>;

export const PreviewedFiles = list(PreviewedFile, PREVIEW_FILES_MAX);
export type PreviewedFiles = TypeOf<typeof PreviewedFiles>;

/** As `BlobText`, of bounded size. */
const DiffBlob = shape('DiffBlob', {
  ref: Digest,
  bytes: integer('bytes', 0, PREVIEW_DIFF_BYTES_MAX),
  head: text('head', { max: EXCERPT_CHARS }),
  tail: text('tail', { max: EXCERPT_CHARS }),
});
const Diff = either('Diff', InlineText, DiffBlob);

/**
 * `diff`: lines for people, cut at a bound; each begins with its mark (`src/shown/diff-lines.ts`). `files`: every file that
 * the call would change, never cut.
 */
export const CallPreview = shape('CallPreview', { diff: Diff, files: PreviewedFiles });
export type CallPreview = TypeOf<typeof CallPreview>;

/** Why there is no preview: a stable code, and a sentence for people. */
export const NoPreview = shape('NoPreview', {
  code: text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ }),
  message: text('message', { max: MESSAGE_CHARS_MAX }),
});
export type NoPreview = TypeOf<typeof NoPreview>;

/** A preview as state keeps it: with the digest by which an answer names it. */
export const RecordedPreview = shape('RecordedPreview', {
  diff: Diff,
  digest: Digest,
  files: PreviewedFiles,
});
export type RecordedPreview = TypeOf<typeof RecordedPreview>;

/** The digest by which an answer names a preview. */
export const previewDigest = ({ diff, files }: CallPreview): Digest => digestJson({ diff, files });
