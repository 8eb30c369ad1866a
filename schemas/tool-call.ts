// Calls and their results (Steerable Tools Spec, "ToolCall" and "ToolResult"; AOS P7, "Ingress/Event Changes").
import { digestJson, digestText } from './canonical.ts';
import { Codec, type TypeOf, flag, integer, json, jsonObject, list, oneFormOf, oneOf, shape, text } from './codec.ts';
import { Attachments, Content, isInline } from './content.ts';
import { BatchId, CallId, Digest } from './ids.ts';
import { type JsonObject, isPlainObject } from './json.ts';
import { CLAIMS_PER_CALL_MAX } from './limits.ts';
import { HostSessionFacts } from './tool-set.ts';
import { FileChanges, WorkspaceName } from './undo.ts';

/** A call as the Steerable Tools Spec has it: no further fields. */
export const ToolCall = shape('ToolCall', {
  id: text('id', { max: 256 }),
  name: text('name', { max: 256 }),
  arguments: jsonObject,
});
export type ToolCall = TypeOf<typeof ToolCall>;

const knownResultFields = shape(
  'ToolResult',
  { success: flag },
  {
    terminal: flag,
    needsFollowup: flag,
    nextAction: text('nextAction', { max: 4_096 }),
    message: text('message', { max: 65_536 }),
    error: text('error', { max: 65_536 }),
    data: jsonObject,
  },
);
/** In canonical order, as its shape reads them fastest. */
const knownResultKeys = ['data', 'error', 'message', 'needsFollowup', 'nextAction', 'success', 'terminal'];

/** A result as the Steerable Tools Spec has it: open to further fields. */
export type ToolResult = TypeOf<typeof knownResultFields> & JsonObject;
export const ToolResult: Codec<ToolResult> = new Codec<ToolResult>(
  'ToolResult',
  (value): value is ToolResult => isPlainObject(value) && knownResultFields.is(pickKnown(value)) && json.is(value),
  (value) => knownResultFields.faultOf(isPlainObject(value) ? pickKnown(value) : value) ?? json.faultOf(value),
  { ...knownResultFields.jsonSchema, additionalProperties: true },
);

// Looks the known fields up, and lists none: a result may have tens of thousands of others.
function pickKnown(value: Readonly<Record<string, unknown>>): object {
  const known: Record<string, unknown> = {};
  for (const key of knownResultKeys) if (Object.hasOwn(value, key)) known[key] = value[key];
  return known;
}

/**
 * The rule of the Steerable Tools Spec: a result is terminal when `terminal` is true, or when it failed and does not ask
 * for a follow-up. Strict: only booleans count. Null and undefined are not terminal.
 */
export function isTerminalResult(result: unknown): boolean {
  if (!isPlainObject(result)) return false;
  return result['terminal'] === true || (result['success'] === false && result['needsFollowup'] !== true);
}

/** A claim on what a call touches: a `/`-separated key, which covers every key below it. */
export const Claim = shape('Claim', {
  key: text('key', { min: 1, max: 4_352 }),
  access: oneOf('access', ['read', 'write']),
});
export type Claim = TypeOf<typeof Claim>;

/** What the engine's edge found when it checked a value against a schema of the tool. */
export const SchemaVerdict = shape(
  'SchemaVerdict',
  { valid: flag },
  { message: text('message', { max: 1_024 }), path: text('path', { max: 1_024 }) },
);
export type SchemaVerdict = TypeOf<typeof SchemaVerdict>;

/**
 * One call as the model made it. A bridge sends `arguments` (an object) or, when it has only text that may not be JSON,
 * `arguments_text`. The engine's edge parses, checks and digests them, moves large ones into a blob (`arguments_ref`,
 * with their claims), and records its verdict. A call has its arguments in one form only: with two, what a grant is asked
 * about and what runs could be different things.
 */
export const ToolCallObserved = oneFormOf(
  shape(
    'ToolCallObserved',
    { call_id: CallId, tool_name: text('tool_name', { max: 256 }) },
    {
      arguments: jsonObject,
      arguments_text: text('arguments_text', { max: 1_048_576 }),
      arguments_ref: Content,
      arguments_digest: Digest,
      arguments_verdict: SchemaVerdict,
      claims: list(Claim, CLAIMS_PER_CALL_MAX),
      /** The provider's id, when the bridge had to replace it. */
      provider_call_id: text('provider_call_id', { max: 256 }),
    },
  ),
  ['arguments', 'arguments_text', 'arguments_ref'],
);
export type ToolCallObserved = TypeOf<typeof ToolCallObserved>;

/** How a call ended. `unknown`: it was started, and what it did cannot be known. */
export const CallOutcome = oneOf('CallOutcome', ['succeeded', 'failed', 'cancelled', 'unknown']);
export type CallOutcome = TypeOf<typeof CallOutcome>;

/** The report on one call: a {@link ToolResult}, bound to its plan and attempt. */
export const settlementFields = {
  required: {
    batch_id: BatchId,
    call_id: CallId,
    plan_hash: Digest,
    attempt: integer('attempt', 1),
    result: ToolResult,
    /** What the model reads. */
    output: Content,
  },
  optional: {
    /** Images and PDFs that the model gets with the output. */
    attachments: Attachments,
    /** The `data` of the result as JSON, when it is too long to stand there. */
    data_ref: Content,
    outcome: CallOutcome,
    /** Why it failed: a stable code such as `timeout` or `not_found`. */
    code: text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ }),
    duration_ms: integer('duration_ms', 0),
    /** The fault may be temporary: a repeatable call is tried again as the retry policy of the run allows. */
    retryable: flag,
    /** Drawn by the edge: the factor for the wait before the next attempt, in thousandths. */
    jitter_permille: integer('jitter_permille', 800, 1_200),
    /** What the edge found when it checked `result.data` against the output schema of the tool. */
    output_verdict: SchemaVerdict,
    /** New facts about the host session. */
    host_session: HostSessionFacts,
    /** The files it changed, with their content before. Absent when there are none, or they are not known. */
    changes: FileChanges,
    /** Where the files of `changes` are: only a bridge that names the same workspace undoes the call. */
    workspace: WorkspaceName,
  },
} as const;

// Everything that judges, runs or shows a call reads its arguments here, so that all of them read the same ones.

type Observed = Pick<ToolCallObserved, 'arguments' | 'arguments_text' | 'arguments_ref'>;

/** A value; content, mostly in a blob; or the text of a model that is no JSON object, whose call never runs. */
export type CallArguments =
  | { readonly arguments: JsonObject }
  | { readonly arguments_ref: Content }
  | { readonly arguments_text: string };

/** The arguments in the one form that the call has them in; an empty object when it has none. */
export function argumentsOf(call: Observed): CallArguments {
  const { arguments: value, arguments_ref, arguments_text } = call;
  if (value !== undefined) return { arguments: value };
  if (arguments_ref !== undefined) return { arguments_ref };
  return arguments_text === undefined ? { arguments: {} } : { arguments_text };
}

/** The arguments where the fold has them as a value, else null. */
export function argumentsValue(call: Observed): JsonObject | null {
  const given = argumentsOf(call);
  return 'arguments' in given ? given.arguments : null;
}

/** What a person is shown of the arguments: the value, the text of the model, or the content that names a blob. */
export function shownArguments(call: Observed): JsonObject | Content | string {
  const given = argumentsOf(call);
  if ('arguments' in given) return given.arguments;
  return 'arguments_ref' in given ? given.arguments_ref : given.arguments_text;
}

/** The digest that binds a call to its exact arguments: the recorded one, where there is one. */
export function argumentsDigest(call: ToolCallObserved): Digest {
  if (call.arguments_digest !== undefined) return call.arguments_digest;
  const given = argumentsOf(call);
  // As a value: so the states of sessions have it that were recorded without an edge.
  return 'arguments_text' in given ? digestJson(given.arguments_text) : measuredDigest(call);
}

/** The digest that the edge records for the arguments of a call. */
export function measuredDigest(call: Observed): Digest {
  const given = argumentsOf(call);
  if ('arguments' in given) return digestJson(given.arguments);
  // Unreadable text: digested as it is.
  if ('arguments_text' in given) return digestText(given.arguments_text);
  // A blob of arguments holds their canonical text, so its digest is their digest.
  return isInline(given.arguments_ref) ? digestText(given.arguments_ref.text) : given.arguments_ref.ref;
}
