// SessionState: everything that decides what happens next, and nothing else (AOS P7, "Session State Changes";
// docs/design.md, "State"). Plain JSON; an empty slot is null. History is in the stream, not here.
import { type TypeOf, either, flag, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { CallConsent, ConsentState, NoPreview, PreviewedFiles, RecordedPreview } from './consent.ts';
import { Attachments, Content } from './content.ts';
import { CallHandle, CallResume, OpenQuestion, OwedAnswer } from './elicitation.ts';
import { BatchId, CallId, Digest, OwnerId, ProfileId, RunId, SessionId, TimeMs, Version } from './ids.ts';
import {
  CALLS_PER_BATCH_MAX,
  CALL_PAGE_SIZE,
  CARD_TITLE_CHARS_MAX,
  DETACHED_MAX,
  FOLLOW_UPS_MAX,
  PROFILES_MAX,
  QUESTIONS_PER_CALL_MAX,
  RUN_HISTORY_MAX,
  TRANSCRIPT_PAGES_MAX,
  UNDOS_MAX,
} from './limits.ts';
import { ToolBatchPlan } from './plan.ts';
import { namesRules } from './rules.ts';
import { Layout } from './model-turn.ts';
import { FollowUp, RunConfig, RunRecord, RunState } from './run.ts';
import { ToolCallObserved } from './tool-call.ts';
import { PendingUndo } from './undo.ts';
import { Toolsets } from './toolset.ts';
import {
  EffectiveToolSet,
  ProviderProfile,
  ToolOverrides,
  ToolProfiles,
  ToolRegistry,
  ToolRuntimeContext,
} from './tool-set.ts';

/** The life of one call. `waiting` is for a person; every status but `waiting`, `queued` and `running` is terminal. */
export const CallStatus = oneOf('CallStatus', [
  'waiting',
  'queued',
  'running',
  'succeeded',
  'failed',
  'rejected',
  'denied',
  'cancelled',
  'unknown',
]);
export type CallStatus = TypeOf<typeof CallStatus>;

export const CallState = shape(
  'CallState',
  {
    status: CallStatus,
    /** 1 for the first attempt; it grows when a bridge is lost with the call or a repeatable call is retried. */
    attempt: integer('attempt', 1),
    /** The bridge that recorded its start. */
    owner: nullable(OwnerId),
    /** What the model reads; null until the call is terminal. */
    output: nullable(Content),
    code: nullable(text('code', { max: 64 })),
    /** The result ends the run, by the completion rule of the run. */
    terminal: flag,
  },
  {
    /**
     * A person has allowed this very call; a grant that covers it does not count. False: where the host runs calls has
     * changed since, so that the answer no longer counts.
     */
    approved: flag,
    /** Why a person is asked, when the policy has asked since the batch was planned; the plan says it otherwise. */
    asked: CallConsent,
    /** When the question to a person expires, or the time to fulfil the call. Of a question that the call asks, too. */
    due_at_ms: TimeMs,
    /** The answer that its bridge is owed; while the call runs. */
    answer: OwedAnswer,
    /** What its work outside is called, as its bridge noted. */
    noted: CallHandle,
    /** What the call asks: while it runs, or, with `state`, while it waits for the answer. */
    question: OpenQuestion,
    /** How many questions it has asked. */
    questions: integer('questions', 1, QUESTIONS_PER_CALL_MAX),
    /** What this attempt gets from the one before. */
    resume: CallResume,
    /** What the call would do, or why that is not known, while it waits for a person. */
    preview: either('Preview', RecordedPreview, NoPreview),
    /** The preview is owed until this time. Only while the call waits for a person. */
    preview_until_ms: TimeMs,
    /** The person who allowed the call named its preview: it runs only while these files are as they were then. */
    previewed: PreviewedFiles,
    /** The attempt failed; the next one is not owed before this time. */
    not_before_ms: TimeMs,
    /** What the model gets with the output. */
    attachments: Attachments,
    /** Its tool was denied or withdrawn while it runs: its bridge is asked to stop it. */
    stopping: flag,
  },
);
export type CallState = TypeOf<typeof CallState>;

/** The open batch. `pages` holds the state of `observed[i]` at `pages[i / CALL_PAGE_SIZE][i % CALL_PAGE_SIZE]`. */
export const ActiveToolBatch = shape(
  'ActiveToolBatch',
  {
    batch_id: BatchId,
    run_id: RunId,
    turn: integer('turn', 1),
    observed: list(ToolCallObserved, CALLS_PER_BATCH_MAX),
    plan: ToolBatchPlan,
    pages: list(list(CallState, CALL_PAGE_SIZE), CALLS_PER_BATCH_MAX),
    queued: integer('queued', 0, CALLS_PER_BATCH_MAX),
    running: integer('running', 0, CALLS_PER_BATCH_MAX),
  },
  {
    /** Calls that wait for a person; absent in a batch that asks no one. */
    waiting: integer('waiting', 0, CALLS_PER_BATCH_MAX),
    /** Calls whose preview is owed; absent in a batch without one. */
    previews: integer('previews', 0, CALLS_PER_BATCH_MAX),
    /** Calls with an open question; absent in a batch without one. */
    questions: integer('questions', 1, CALLS_PER_BATCH_MAX),
    /** Calls with a time that state waits for: `due_at_ms`, `not_before_ms` or `preview_until_ms`. */
    timed: list(CallId, CALLS_PER_BATCH_MAX),
  },
);
export type ActiveToolBatch = TypeOf<typeof ActiveToolBatch>;

/** One message of the conversation. */
export const TranscriptEntry = shape(
  'TranscriptEntry',
  { role: oneOf('role', ['user', 'assistant', 'tool']) },
  {
    content: Content,
    /** Of a message of a user or of a result. */
    attachments: Attachments,
    calls: list(ToolCallObserved, CALLS_PER_BATCH_MAX),
    call_id: CallId,
    tool_name: text('tool_name', { max: 256 }),
    is_error: flag,
    layout: Layout,
  },
);
export type TranscriptEntry = TypeOf<typeof TranscriptEntry>;

/** A sealed page, as its blob holds it. `prev` is the digest of the page before it, so the pages form a chain. */
export const TranscriptPage = shape('TranscriptPage', {
  prev: nullable(Digest),
  entries: list(TranscriptEntry, 2 * CALLS_PER_BATCH_MAX),
});
export type TranscriptPage = TypeOf<typeof TranscriptPage>;

/** What stands for the first `count` entries of the conversation, which end with the sealed page `through`. */
export const ContextSummary = shape('ContextSummary', {
  content: Content,
  count: integer('count', 1),
  through: Digest,
});
export type ContextSummary = TypeOf<typeof ContextSummary>;

/** The window of the conversation: a summary of what was compacted, the digests of sealed pages, the newest last, and the open page. */
export const TranscriptState = shape(
  'TranscriptState',
  {
    /** All entries so far, including those that left the window. */
    count: integer('count', 0),
    sealed: list(Digest, TRANSCRIPT_PAGES_MAX),
    open: list(TranscriptEntry, 2 * CALLS_PER_BATCH_MAX),
  },
  {
    summary: ContextSummary,
    /** The tokens of the last generate, in a run whose config has a `context`; absent when they are not known. */
    used: integer('used', 0),
  },
);
export type TranscriptState = TypeOf<typeof TranscriptState>;

/** A call that an interrupt left running. */
export const DetachedCall = shape(
  'DetachedCall',
  {
    batch_id: BatchId,
    call_id: CallId,
    plan_hash: Digest,
    attempt: integer('attempt', 1),
    owner: nullable(OwnerId),
  },
  {
    /** The answer that its bridge is owed: a question that was open when the call was detached ends with `cancel`. */
    answer: OwedAnswer,
  },
);
export type DetachedCall = TypeOf<typeof DetachedCall>;

export const SessionState = shape(
  'SessionState',
  {
    /** The version of the genesis record. */
    v: integer('v', 1, 1),
    session_id: SessionId,
    genesis_digest: Digest,
    /** The number of events folded. */
    version: Version,
    created_at_ms: TimeMs,
    updated_at_ms: TimeMs,

    config: RunConfig,
    /** The rules it folds by: those of the genesis record, or of the last `RulesAdopted`. */
    rules: namesRules.rules,
    run: nullable(RunState),
    run_history: list(RunRecord, RUN_HISTORY_MAX),
    follow_ups: list(FollowUp, FOLLOW_UPS_MAX),
    runs_started: integer('runs_started', 0),
    batches_started: integer('batches_started', 0),

    tool_registry: ToolRegistry,
    tool_profiles: ToolProfiles,
    provider_profiles: list(ProviderProfile, PROFILES_MAX),
    /** The profile an event selected; null for the provider's default. */
    tool_profile: nullable(ProfileId),
    tool_overrides: shape('ScopedOverrides', { session: ToolOverrides, run: ToolOverrides }),
    tool_runtime_context: ToolRuntimeContext,
    effective_tools: EffectiveToolSet,

    active_tool_batch: nullable(ActiveToolBatch),
    last_tool_plan_hash: nullable(Digest),
    transcript: TranscriptState,
    consent: ConsentState,
  },
  {
    /** Calls that still run although the run does not wait for them; absent when there are none. */
    detached: list(DetachedCall, DETACHED_MAX, 1),
    /** Undos without an answer yet; absent when there are none. */
    undos: list(PendingUndo, UNDOS_MAX, 1),
    /** What is pinned of the tools that come from outside the package; absent until the first toolset. */
    toolsets: Toolsets,
    /** The session that it was forked from; absent when it was not forked. */
    parent: SessionId,
    /** The beginning of the first input that is not blank, without control characters; absent before it. */
    title: text('title', { min: 1, max: CARD_TITLE_CHARS_MAX }),
  },
);
export type SessionState = TypeOf<typeof SessionState>;
