// A run: its configuration, why it started, and how it ended (AOS P7, "Run/Turn Loop Ownership").
import { type TypeOf, decimal, either, flag, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { Attachment, Attachments, Content } from './content.ts';
import { Digest, ProfileId, RunId, TimeMs, ToolName } from './ids.ts';
import {
  AMENDED_MAX,
  ATTACHMENTS_MAX,
  ATTEMPTS_MAX,
  CALLS_MAX,
  CONCURRENCY_MAX,
  REPEATS_MAX,
  RETRY_CAP_MS_MAX,
  RUN_MS_MAX,
  STEERS_MAX,
  TOOLS_MAX,
  TURNS_MAX,
} from './limits.ts';
import { ToolCallObserved } from './tool-call.ts';
import { EffectiveToolSet, ToolOverrides } from './tool-set.ts';

/**
 * How often a generate or a repeatable call is tried, and the wait before the n-th retry:
 * `min(base_ms * 2^(n-1), cap_ms)`, multiplied by the jitter that the edge drew and recorded.
 */
export const RetryPolicy = shape('RetryPolicy', {
  attempts_max: integer('attempts_max', 1, ATTEMPTS_MAX),
  base_ms: integer('base_ms', 0, RETRY_CAP_MS_MAX),
  cap_ms: integer('cap_ms', 0, RETRY_CAP_MS_MAX),
});
export type RetryPolicy = TypeOf<typeof RetryPolicy>;

const configFields = {
  /** The model's provider; decides the default profile. */
  provider: text('provider', { max: 64 }),
  model: text('model', { max: 128 }),
  /** The system prompt; null for none. */
  instructions: nullable(Content),
  /** A profile for every run of the session, or for this run; null for the selected one or the provider's default. */
  tool_profile: nullable(ProfileId),
  /** Opens a host session before the first turn when the tools need one. */
  host_session_open: flag,
  turns_max: integer('turns_max', 1, TURNS_MAX),
  calls_max: integer('calls_max', 1, CALLS_MAX),
  /** The same call this many times in a row is answered, not run; once more ends the run. */
  repeats_max: integer('repeats_max', 2, REPEATS_MAX),
  tool_concurrency_max: integer('tool_concurrency_max', 1, CONCURRENCY_MAX),
  output_tokens_max: nullable(integer('output_tokens_max', 1, 10_000_000)),
  /** `continue`: the model sees failures. `steerable`: a terminal result ends the run (see isTerminalResult). */
  completion: oneOf('completion', ['continue', 'steerable']),
  /** Input and output tokens of the whole run; when a run exceeds it and would make another call or turn, it fails. */
  tokens_max: nullable(integer('tokens_max', 1)),
  /** Wall time of the whole run, including waits for people, in milliseconds. */
  wall_ms_max: nullable(integer('wall_ms_max', 1, RUN_MS_MAX)),
  retry: RetryPolicy,
  /** Identical read-only calls of one batch run once; each of them gets the result. */
  share_reads: flag,
} as const;

/** Whether the model may, must or must not call a tool, or must call this one. */
export const ToolChoice = either(
  'ToolChoice',
  oneOf('ToolChoice', ['auto', 'none', 'required']),
  shape('ForcedTool', { tool: ToolName }),
);
export type ToolChoice = TypeOf<typeof ToolChoice>;

/** How much the model may think: in the provider's words, in tokens, or both. */
export const Reasoning = shape(
  'Reasoning',
  {},
  {
    effort: oneOf('effort', ['none', 'minimal', 'low', 'medium', 'high', 'max']),
    tokens_max: integer('tokens_max', 0, 10_000_000),
  },
);
export type Reasoning = TypeOf<typeof Reasoning>;

/** When the conversation is compacted: once a generate has used more than `mark` tokens. */
export const ContextPolicy = shape('ContextPolicy', { mark: integer('mark', 1, 100_000_000) });
export type ContextPolicy = TypeOf<typeof ContextPolicy>;

/** Absent and null mean the same: what the provider does by default. */
export const modelFields = {
  tool_choice: nullable(ToolChoice),
  /** Whether the model may make several calls in one turn. */
  parallel_calls: nullable(flag),
  reasoning: nullable(Reasoning),
  /** As the API takes it; passed on, never computed with. */
  temperature: nullable(decimal('temperature', 0, 2)),
} as const;

const optionalConfigFields = {
  ...modelFields,
  context: nullable(ContextPolicy),
  /** Most tools offered with a generate; absent for as many as an offer holds. The others are found with `tools_find`. */
  offer_max: integer('offer_max', 1, TOOLS_MAX),
} as const;

/** The model of a config that names none. */
export const MODEL_UNNAMED = 'default';

/**
 * The provider of a run whose calls come from a host outside, such as one that speaks the Model Context Protocol: no bridge is
 * owed a generate, and the host reports `ToolCallsObserved`.
 */
export const EXTERNAL_PROVIDER = 'external';

export const isExternal = ({ config }: { readonly config: Pick<RunConfig, 'provider'> }): boolean =>
  config.provider === EXTERNAL_PROVIDER;

/** The config of a session, which its runs start from, and the config of a run. */
export const RunConfig = shape('RunConfig', configFields, optionalConfigFields);
export type RunConfig = TypeOf<typeof RunConfig>;

/** The fields to change; omitted fields stay. */
export const RunConfigPatch = shape('RunConfigPatch', {}, { ...configFields, ...optionalConfigFields });
export type RunConfigPatch = TypeOf<typeof RunConfigPatch>;

/** Why a run started. */
export const RunCause = shape(
  'RunCause',
  { kind: oneOf('kind', ['direct', 'follow_up', 'event']) },
  { note: text('note', { max: 1_024 }) },
);
export type RunCause = TypeOf<typeof RunCause>;

/** The phases of a live run; a session without one is `idle`. reducers/run-phases.ts holds the transitions. */
export const RunPhase = oneOf('RunPhase', [
  'opening',
  'generating',
  'executing',
  'paused_opening',
  'paused_generating',
  'paused_executing',
  'interrupting',
  'cancelling',
]);
export type RunPhase = TypeOf<typeof RunPhase>;

export const RunOutcome = oneOf('RunOutcome', ['completed', 'failed', 'cancelled', 'interrupted']);
export type RunOutcome = TypeOf<typeof RunOutcome>;

/**
 * The tokens a generate used, as the provider counted them. Input includes cached tokens and those written to a cache, and
 * output includes thinking, whatever the API's own sums are.
 */
export const Usage = shape(
  'Usage',
  { input_tokens: integer('input_tokens', 0), output_tokens: integer('output_tokens', 0) },
  {
    cached_tokens: integer('cached_tokens', 0),
    cache_write_tokens: integer('cache_write_tokens', 0),
    reasoning_tokens: integer('reasoning_tokens', 0),
  },
);
export type Usage = TypeOf<typeof Usage>;

/** How a run ended, and why. */
export const RunEnding = shape('RunEnding', {
  outcome: RunOutcome,
  code: nullable(text('code', { max: 64 })),
  message: nullable(text('message', { max: 1_024 })),
  output: nullable(Content),
});
export type RunEnding = TypeOf<typeof RunEnding>;

/** How a run ended, as the event that ended it says. Its output is in state. */
export const RunEnd = shape('RunEnd', {
  run_id: RunId,
  outcome: RunOutcome,
  code: nullable(text('code', { max: 64 })),
  message: nullable(text('message', { max: 1_024 })),
});
export type RunEnd = TypeOf<typeof RunEnd>;

/**
 * The compaction before the generate of this turn: why, the page that it ends with, and how many entries it replaces. The
 * page is named when the open page is sealed for it, in the same step.
 */
export const Compaction = shape(
  'Compaction',
  { cause: oneOf('cause', ['mark', 'context_length']), answered: flag },
  { through: Digest, count: integer('count', 1) },
);
export type Compaction = TypeOf<typeof Compaction>;

const counters = {
  /** 1-based number of the generate that is owed or was last settled. */
  turn: integer('turn', 0),
  calls: integer('calls', 0),
  usage: Usage,
};

/** The live run. */
export const RunState = shape(
  'RunState',
  {
    run_id: RunId,
    phase: RunPhase,
    cause: RunCause,
    config: RunConfig,
    ...counters,
    /** The tools offered with the generate that is owed or was last settled; pinned when it became owed. */
    offer: nullable(EffectiveToolSet),
    /** Messages that enter the next generate. */
    steers: list(Content, STEERS_MAX),
    /** The tool and arguments of the last call, and how many times in a row it was made. */
    repeat: shape('RepeatGuard', {
      tool_name: nullable(text('tool_name', { max: 256 })),
      arguments_digest: nullable(Digest),
      count: integer('count', 0),
    }),
    /** How the run ends when its running calls have settled; null while it is not ending. */
    ending: nullable(RunEnding),
    started_at_ms: TimeMs,
  },
  {
    /** The input of an interrupt: the run continues with it when its running calls have settled. */
    redirect: Content,
    redirect_attachments: Attachments,
    /**
     * The attachments of the steers: the n-th list is that of the n-th steer. It ends with the last steer that has some;
     * absent when none has.
     */
    steer_attachments: list(list(Attachment, ATTACHMENTS_MAX), STEERS_MAX, 1),
    /** Absent when the turn needs none; kept after its answer, so that there is one in a turn. */
    compact: Compaction,
    /** Calls to make after the open batch: a person approved them with changed arguments. */
    amended: list(ToolCallObserved, AMENDED_MAX),
    /** So many of `amended`, from the first, were approved in another place than the host session has now: they ask again. */
    amended_elsewhere: integer('amended_elsewhere', 1, AMENDED_MAX),
    /** How many generates of this turn failed; the next one is not owed before `not_before_ms`. */
    retry: shape('GenerateRetry', { failures: integer('failures', 1), not_before_ms: nullable(TimeMs) }),
  },
);
export type RunState = TypeOf<typeof RunState>;

/** An ended run, as state keeps it. */
export const RunRecord = shape('RunRecord', {
  run_id: RunId,
  ending: RunEnding,
  cause: RunCause,
  ...counters,
  started_at_ms: TimeMs,
  ended_at_ms: TimeMs,
});
export type RunRecord = TypeOf<typeof RunRecord>;

/** A run that starts when the live run has ended. */
export const FollowUp = shape(
  'FollowUp',
  { input: Content },
  { attachments: Attachments, run_overrides: RunConfigPatch, tools: ToolOverrides },
);
export type FollowUp = TypeOf<typeof FollowUp>;
