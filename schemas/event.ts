// Ingress events: the facts recorded in a session (AOS P7, "Ingress/Event Changes"). A stored shape is never edited: a
// change gets a new version `v` and an upcaster (schemas/upcast.ts), because logs outlive the code that wrote them.
import {
  type Codec,
  type ShapeOf,
  type TypeOf,
  dictionary,
  either,
  flag,
  integer,
  jsonObject,
  list,
  oneOf,
  tagged,
  text,
  variants,
} from './codec.ts';
import { CallPreview, ConsentPolicy, GrantScope, NoPreview } from './consent.ts';
import { Attachments, Content } from './content.ts';
import { CallHandle, CallQuestion, ElicitationAction } from './elicitation.ts';
import { BatchId, CallId, Digest, EventId, OwnerId, Position, ProfileId, RunId, TimeMs, ToolId } from './ids.ts';
import {
  CALLS_PER_BATCH_MAX,
  PROFILES_MAX,
  RETRY_CAP_MS_MAX,
  RUN_HISTORY_MAX,
  TOOLSET_TOOLS_MAX,
  TOOLS_MAX,
} from './limits.ts';
import { Exchange, Layout, Stop } from './model-turn.ts';
import { namesRules } from './rules.ts';
import { FollowUp, RunCause, RunConfigPatch, RunEnd, Usage } from './run.ts';
import { SchemaVerdict, ToolCallObserved, ToolResult, settlementFields } from './tool-call.ts';
import { HostPlace, HostSessionFacts, ProviderProfile, ToolOverrides, ToolProfile } from './tool-set.ts';
import { ToolSpec } from './tool-spec.ts';
import { ToolsetName, ToolsetTool } from './toolset.ts';
import { FileChanges, WorkspaceName } from './undo.ts';

const code = text('code', { min: 1, max: 64, pattern: /^[a-z][a-z0-9_]*$/ });
const message = text('message', { max: 1_024 });
const reason = { reason: message };
/** The name of the person who sent it, as the client knows it, for people to read. */
const by = { by: text('by', { min: 1, max: 128 }) };
/** The call a person answers, and the digest of its exact arguments. */
const addressed = { batch_id: BatchId, call_id: CallId, arguments_digest: Digest };

/** The fields of every event: version, idempotency key, and the time the edge received it. */
const envelope = {
  v: integer('v', 1, 1),
  event_id: EventId,
  at_ms: TimeMs,
} as const;

/** What went over the wire: evidence, which the fold ignores. */
const exchanged = { exchange: Exchange } as const;

const failedAttempt = {
  /** The fault may be temporary: the model is asked again as the retry policy of the run allows. */
  retryable: flag,
  /** The shortest wait the provider asked for. */
  retry_after_ms: integer('retry_after_ms', 0, RETRY_CAP_MS_MAX),
  jitter_permille: integer('jitter_permille', 800, 1_200),
  ...exchanged,
} as const;

/** Present exactly on an event that ends runs, of whatever kind: these runs, in the order in which they end. */
const ending = { ends: list(RunEnd, RUN_HISTORY_MAX, 1) } as const;

/**
 * Every kind of event, with its required and its optional fields (without the envelope). A third group of fields is
 * required too, but follows from state: a request may leave it out.
 */
const kinds = {
  /** Starts a run. Overrides replace fields of the session's config for this run. */
  RunRequested: [
    { input: Content },
    { attachments: Attachments, run_overrides: RunConfigPatch, tools: ToolOverrides, cause: RunCause },
  ],
  /** What a generate returned: text, calls, or both. Without calls the turn is over. */
  ToolCallsObserved: [
    { run_id: RunId, turn: integer('turn', 1), calls: list(ToolCallObserved, CALLS_PER_BATCH_MAX) },
    { content: Content, usage: Usage, stop: Stop, layout: Layout, ...exchanged },
  ],
  /** A generate that failed. */
  GenerateFailed: [{ run_id: RunId, turn: integer('turn', 1), code, message }, failedAttempt],
  /** The sealed pages of the conversation up to `through` are replaced by this summary. */
  ContextCompacted: [
    { run_id: RunId, turn: integer('turn', 1), through: Digest, summary: Content },
    { usage: Usage, ...exchanged },
  ],
  /** The conversation could not be compacted. */
  CompactFailed: [{ run_id: RunId, turn: integer('turn', 1), code, message }, failedAttempt],
  /** A call that is not read-only runs only after this event is recorded. */
  ToolCallStarted: [
    { batch_id: BatchId, call_id: CallId, plan_hash: Digest, attempt: integer('attempt', 1), owner: OwnerId },
    /** Where the call would run; a start in another place than the session's is refused. */
    { place: HostPlace },
  ],
  ToolCallSettled: [settlementFields.required, settlementFields.optional],
  /** Every call of the batch is terminal; the results go to the model. */
  ToolBatchSettled: [{ batch_id: BatchId, plan_hash: Digest }, {}, { results_digest: Digest }],
  /** The bridge that held a call is gone: the call is queued again, or its outcome is unknown. */
  LeaseExpired: [{ batch_id: BatchId, call_id: CallId, attempt: integer('attempt', 1) }, {}],
  /** What a call that waits for a person would do, or why that cannot be said. It decides nothing and holds no answer up. */
  CallPreviewed: [
    {
      batch_id: BatchId,
      call_id: CallId,
      attempt: integer('attempt', 1),
      arguments_digest: Digest,
      preview: either('Preview', CallPreview, NoPreview),
    },
    /** Where the files are; a preview of another place than the session's is refused. */
    { place: HostPlace },
  ],
  /**
   * A running call waits for work outside that outlives its bridge: when the bridge is lost, the next attempt gets this handle.
   * A later note replaces it.
   */
  ToolCallNoted: [{ batch_id: BatchId, call_id: CallId, attempt: integer('attempt', 1), handle: CallHandle }, {}],
  /**
   * A running call asks a person. With `resume` its attempt is over, and the next one gets this content and the answer; without,
   * it keeps running, and its bridge gets the answer.
   */
  ToolCallAsked: [
    { batch_id: BatchId, call_id: CallId, attempt: integer('attempt', 1), question: CallQuestion },
    { resume: Content },
  ],
  HostSessionUpdated: [{ host_session: HostSessionFacts }, { detail: message }],
  /** Replaces the registry except the tools of toolsets, and the profiles when given. */
  ToolRegistrySet: [
    { registry: list(ToolSpec, TOOLS_MAX) },
    { profiles: list(ToolProfile, PROFILES_MAX), provider_profiles: list(ProviderProfile, PROFILES_MAX) },
  ],
  ToolProfileSelected: [{ profile_id: ProfileId }, {}],
  /** Replaces all three lists of its scope; an omitted list is empty. */
  ToolOverridesSet: [
    { scope: oneOf('scope', ['session', 'run']) },
    { enable: list(ToolId, TOOLS_MAX), disable: list(ToolId, TOOLS_MAX), force: list(ToolId, TOOLS_MAX) },
  ],
  /**
   * Replaces the tools of one source and nothing else. `owner` is who sets them, by a name that stays: another's are refused.
   * `trust` is `first`: while nothing of the toolset is approved, these definitions are, at once.
   */
  ToolsetSet: [
    { toolset: ToolsetName, owner: OwnerId, tools: list(ToolsetTool, TOOLSET_TOOLS_MAX) },
    { trust: oneOf('trust', ['first']) },
  ],
  /** An operator approves exactly these definitions of tools that the toolset has, by their digests. */
  ToolsetApproved: [{ toolset: ToolsetName, tools: dictionary(ToolId, Digest, TOOLSET_TOOLS_MAX) }, by],
  /** Removes the tools of a toolset, and forgets its owner and what was approved. */
  ToolsetRemoved: [{ toolset: ToolsetName }, by],
  /** Changes the session's config for runs that start later. */
  SessionConfigured: [{ config: RunConfigPatch }, {}],
  /** Adds a message to the next generate of the live run. */
  RunSteered: [{ run_id: RunId, input: Content }, { attachments: Attachments }],
  /** Starts a run now, or when the live run has ended. */
  FollowUpQueued: [{ follow_up: FollowUp }, {}],
  RunPaused: [{ run_id: RunId }, {}],
  RunResumed: [{ run_id: RunId }, {}],
  /** Cancels the running calls, and ends the run when they have settled. */
  RunCancelled: [{ run_id: RunId }, reason],
  /** The harness reports that the run is done. */
  RunCompleted: [{ run_id: RunId }, { output: Content }],
  /** The harness reports that the run has failed. */
  RunFailed: [{ run_id: RunId, code, message }, {}],
  /** Replaces the session's policy and revokes every grant. */
  ConsentPolicySet: [{ policy: ConsentPolicy }, by],
  /** An operator moves the session to later rules, which the fold follows from here on. Only while no run is live. */
  RulesAdopted: [namesRules, by],
  /**
   * A person's answer to a call that waits for it (openboa, "Managed tool confirmation"); it counts once. `grant` allows
   * further calls of the tool. `instead`, with a denial, is the call to make with other arguments, under a new id. `preview`, with
   * a permission, is the digest of the recorded preview that the person saw: the call runs only while its files are as they
   * were then.
   */
  'user.tool_confirmation': [
    { ...addressed, result: oneOf('result', ['allow', 'deny']) },
    { message, grant: GrantScope, instead: ToolCallObserved, preview: Digest, ...by },
  ],
  /** A person or an application has fulfilled a custom call (openboa, "Custom tools"). */
  'user.custom_tool_result': [
    { ...addressed, result: ToolResult, output: Content },
    { attachments: Attachments, output_verdict: SchemaVerdict, ...by },
  ],
  /**
   * A person's answer to the question that a call asks (`ToolCallAsked`); it counts once. Only `accept` has content, which must
   * fit the schema of the question.
   */
  'user.elicitation_result': [
    { batch_id: BatchId, call_id: CallId, attempt: integer('attempt', 1), question: Digest, action: ElicitationAction },
    {
      content: jsonObject,
      /** What the edge found when it checked the content against the schema of the question. */
      content_verdict: SchemaVerdict,
      ...by,
    },
  ],
  /**
   * A person interrupts the run (openboa, "Managed tool confirmation"): no further call is started. When the running
   * calls have settled, the run continues with `input`, or ends if there is none. Attachments need an input.
   */
  'user.interrupt': [{ run_id: RunId }, { input: Content, attachments: Attachments, ...reason, ...by }],
  /**
   * A client asks to put back the files of a settled call. The engine's edge adds the batch, the files and the workspace; it
   * refuses a request that states another workspace.
   */
  UndoRequested: [{ call_id: CallId }, { batch_id: BatchId, changes: FileChanges, workspace: WorkspaceName }],
  /** The outcome of an undo; `position` is that of its `UndoRequested`. */
  UndoSettled: [
    { position: Position, batch_id: BatchId, call_id: CallId, success: flag },
    { code, message },
  ],
  /** A time that the state waits for has been reached. */
  TimeReached: [{ due_at_ms: TimeMs }, { late: flag }],
} as const;

type Kinds = typeof kinds;
export type IngressKind = keyof Kinds;

/** All kinds, in declared order. */
export const INGRESS_KINDS = Object.keys(kinds) as readonly IngressKind[];

interface Tag<K> {
  readonly kind: Codec<K>;
}
/** The fields of a kind that follow from state. */
type Derived<K extends IngressKind> = Kinds[K] extends readonly [unknown, unknown, infer Fields] ? Fields : unknown;
type EventOf<K extends IngressKind> = Codec<
  ShapeOf<Tag<K> & Kinds[K][0] & Derived<K> & typeof envelope, Kinds[K][1] & typeof ending>
>;
type RequestOf<K extends IngressKind> = Codec<
  ShapeOf<Tag<K> & Kinds[K][0], Kinds[K][1] & Derived<K> & Pick<typeof envelope, 'event_id'>>
>;

const derivedOf = (kind: IngressKind) => (kinds[kind] as readonly object[])[2] ?? {};

const eventCodecs = Object.fromEntries(
  INGRESS_KINDS.map((kind) => {
    const required = { ...kinds[kind][0], ...derivedOf(kind), ...envelope };
    return [kind, tagged(kind, required, { ...kinds[kind][1], ...ending })];
  }),
) as unknown as { readonly [K in IngressKind]: EventOf<K> };

const requestCodecs = Object.fromEntries(
  INGRESS_KINDS.map((kind) => {
    const optional = { ...kinds[kind][1], ...derivedOf(kind), event_id: EventId };
    return [kind, tagged(kind, kinds[kind][0], optional)];
  }),
) as unknown as { readonly [K in IngressKind]: RequestOf<K> };

/** A recorded fact. */
export const IngressEvent = variants('IngressEvent', 'kind', eventCodecs);
export type IngressEvent = TypeOf<typeof IngressEvent>;

/** An event of one kind. */
export type EventOfKind<K extends IngressKind> = Extract<IngressEvent, { readonly kind: K }>;

/** What a client sends: an event without its envelope. With an `event_id` it is safe to send again. */
export const Ingress = variants('Ingress', 'kind', requestCodecs);
export type Ingress = TypeOf<typeof Ingress>;

/** An event before it is recorded: without the fields that follow from state (`stepNew` adds them). */
export type NewEvent = Ingress & Pick<EventOfKind<IngressKind>, keyof typeof envelope>;

/** The version of the event shapes in this file. */
export const EVENT_VERSION = 1;

/** The codec of one kind of event. */
export const eventCodec = <K extends IngressKind>(kind: K): EventOf<K> => eventCodecs[kind];
