// Ingress events: the facts that reach a session, as they are recorded (P7 "Ingress/Event Changes"). A stored shape
// is never edited: a change is a new version `v` with an upcaster (STYLE, "The log outlives the code").
import { type Codec, type ShapeOf, type TypeOf, flag, integer, list, oneOf, tagged, text, variants } from './codec.ts';
import { ConsentPolicy, GrantScope } from './consent.ts';
import { Content } from './content.ts';
import { BatchId, CallId, Digest, EventId, OwnerId, Position, ProfileId, RunId, TimeMs } from './ids.ts';
import { CALLS_PER_BATCH_MAX, PROFILES_MAX, RETRY_CAP_MS_MAX, TOOLS_MAX } from './limits.ts';
import { FollowUp, RunCause, RunConfigPatch, Usage } from './run.ts';
import { SchemaVerdict, ToolCallObserved, ToolResult, settlementFields } from './tool-call.ts';
import { HostSessionFacts, ProviderProfile, ToolOverrides, ToolProfile } from './tool-set.ts';
import { ToolId } from './ids.ts';
import { ToolSpec } from './tool-spec.ts';
import { FileChanges } from './undo.ts';

const code = text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ });
const message = text('message', { max: 1_024 });
const reason = { reason: message };
/** Who said it, as the client knows them: a name for people to read. */
const by = { by: text('by', { min: 1, max: 128 }) };
/** The call a person speaks about, and its exact arguments. */
const addressed = { batch_id: BatchId, call_id: CallId, arguments_digest: Digest };

/** What every event carries: its version, its idempotency key, and when the edge received it. */
const envelope = {
  v: integer('v', 1, 2),
  event_id: EventId,
  at_ms: TimeMs,
} as const;

/** Every kind of event, its required and its optional fields (beside the envelope). */
const kinds = {
  /** Starts a run. Overrides change the session's config field by field and end with the run. */
  RunRequested: [{ input: Content }, { run_overrides: RunConfigPatch, tools: ToolOverrides, cause: RunCause }],
  /** What a generate returned: text, calls, or both. Without calls the model has ended its turn. */
  ToolCallsObserved: [
    { run_id: RunId, turn: integer('turn', 1), calls: list(ToolCallObserved, CALLS_PER_BATCH_MAX) },
    { content: Content, usage: Usage },
  ],
  /** A generate that gave no answer. */
  GenerateFailed: [
    { run_id: RunId, turn: integer('turn', 1), code, message },
    {
      /** It failed for a reason that may pass; it is asked again as the run's retry policy says. */
      retryable: flag,
      /** What the provider asked to wait for at least. */
      retry_after_ms: integer('retry_after_ms', 0, RETRY_CAP_MS_MAX),
      jitter_permille: integer('jitter_permille', 800, 1_200),
    },
  ],
  /** Recorded before a call that may not be repeated runs. */
  ToolCallStarted: [
    { batch_id: BatchId, call_id: CallId, plan_hash: Digest, attempt: integer('attempt', 1), owner: OwnerId },
    {},
  ],
  ToolCallSettled: [settlementFields.required, settlementFields.optional],
  /** Every call of the batch is terminal: its results go to the model. */
  ToolBatchSettled: [{ batch_id: BatchId, plan_hash: Digest }, {}],
  /** Whoever held a call is gone: it may run again, or its outcome is unknown. */
  LeaseExpired: [{ batch_id: BatchId, call_id: CallId, attempt: integer('attempt', 1) }, {}],
  HostSessionUpdated: [{ host_session: HostSessionFacts }, { detail: message }],
  /** Replaces the registry, and the profiles when given. */
  ToolRegistrySet: [
    { registry: list(ToolSpec, TOOLS_MAX) },
    { profiles: list(ToolProfile, PROFILES_MAX), provider_profiles: list(ProviderProfile, PROFILES_MAX) },
  ],
  ToolProfileSelected: [{ profile_id: ProfileId }, {}],
  /** Replaces all three lists of its scope; a list that is not given is empty. */
  ToolOverridesSet: [
    { scope: oneOf('scope', ['session', 'run']) },
    { enable: list(ToolId, TOOLS_MAX), disable: list(ToolId, TOOLS_MAX), force: list(ToolId, TOOLS_MAX) },
  ],
  /** Changes the session's config, for runs that start later. */
  SessionConfigured: [{ config: RunConfigPatch }, {}],
  /** A message that enters the next generate of the live run. */
  RunSteered: [{ run_id: RunId, input: Content }, {}],
  /** A run that starts when the live one has ended, or now. */
  FollowUpQueued: [{ follow_up: FollowUp }, {}],
  RunPaused: [{ run_id: RunId }, {}],
  RunResumed: [{ run_id: RunId }, {}],
  /** Cancels the running calls and ends the run when they have settled. */
  RunCancelled: [{ run_id: RunId }, reason],
  /** The harness says the run is done. */
  RunCompleted: [{ run_id: RunId }, { output: Content }],
  /** The harness gives the run up. */
  RunFailed: [{ run_id: RunId, code, message }, {}],
  /** Replaces the session's policy, and takes back every grant. */
  ConsentPolicySet: [{ policy: ConsentPolicy }, by],
  /**
   * A person's word on a call that waits for it (openboa "Managed tool confirmation"), used once. `grant` allows more
   * of its kind; `instead`, with a denial, is the call to make with other arguments, under an id of its own.
   */
  'user.tool_confirmation': [
    { ...addressed, result: oneOf('result', ['allow', 'deny']) },
    { message, grant: GrantScope, instead: ToolCallObserved, ...by },
  ],
  /** A person, or an application for them, has fulfilled a custom call (openboa "Custom tools"). */
  'user.custom_tool_result': [
    { ...addressed, result: ToolResult, output: Content },
    { output_verdict: SchemaVerdict, ...by },
  ],
  /**
   * A person changes direction (openboa "Managed tool confirmation"): nothing that waits is started any more. Once
   * what runs has settled the run goes on with `input`, or ends without one.
   */
  'user.interrupt': [{ run_id: RunId }, { input: Content, ...reason, ...by }],
  /** Somebody wants the files of a settled call put back. The engine's edge says which batch and which files. */
  UndoRequested: [{ call_id: CallId }, { batch_id: BatchId, changes: FileChanges }],
  /** What came of an undo; `position` is where it was asked for. */
  UndoSettled: [
    { position: Position, batch_id: BatchId, call_id: CallId, success: flag },
    { code, message },
  ],
  /** A time that state was waiting for has come. */
  TimeReached: [{ due_at_ms: TimeMs }, { late: flag }],
} as const;

type Kinds = typeof kinds;
export type IngressKind = keyof Kinds;

/** All kinds, in declared order. */
export const INGRESS_KINDS = Object.keys(kinds) as readonly IngressKind[];

interface Tag<K> {
  readonly kind: Codec<K>;
}
type EventOf<K extends IngressKind> = Codec<ShapeOf<Tag<K> & Kinds[K][0] & typeof envelope, Kinds[K][1]>>;
type RequestOf<K extends IngressKind> = Codec<
  ShapeOf<Tag<K> & Kinds[K][0], Kinds[K][1] & Pick<typeof envelope, 'event_id'>>
>;

const eventCodecs = Object.fromEntries(
  INGRESS_KINDS.map((kind) => [kind, tagged(kind, { ...kinds[kind][0], ...envelope }, kinds[kind][1])]),
) as unknown as { readonly [K in IngressKind]: EventOf<K> };

const requestCodecs = Object.fromEntries(
  INGRESS_KINDS.map((kind) => [kind, tagged(kind, kinds[kind][0], { ...kinds[kind][1], event_id: EventId })]),
) as unknown as { readonly [K in IngressKind]: RequestOf<K> };

/** A recorded fact. */
export const IngressEvent = variants('IngressEvent', 'kind', eventCodecs);
export type IngressEvent = TypeOf<typeof IngressEvent>;

/** An event of one kind. */
export type EventOfKind<K extends IngressKind> = Extract<IngressEvent, { readonly kind: K }>;

/** What a client sends: an event without its envelope. `event_id` makes it safe to send again. */
export const Ingress = variants('Ingress', 'kind', requestCodecs);
export type Ingress = TypeOf<typeof Ingress>;

/** The version of the event shapes in this file. */
export const EVENT_VERSION = 2;

/** The codec of one kind, for those who generate or check events of it alone. */
export const eventCodec = <K extends IngressKind>(kind: K): EventOf<K> => eventCodecs[kind];
