// A run: how it is configured, why it started, and how it ended (P7 "Run/Turn Loop Ownership").
import { type TypeOf, flag, integer, list, nullable, oneOf, shape, text } from './codec.ts';
import { Content } from './content.ts';
import { Digest, ProfileId, RunId, TimeMs } from './ids.ts';
import {
  AMENDED_MAX,
  ATTEMPTS_MAX,
  CALLS_MAX,
  CONCURRENCY_MAX,
  REPEATS_MAX,
  RETRY_CAP_MS_MAX,
  RUN_MS_MAX,
  STEERS_MAX,
  TURNS_MAX,
} from './limits.ts';
import { ToolCallObserved } from './tool-call.ts';
import { EffectiveToolSet, ToolOverrides } from './tool-set.ts';

const configFields = {
  /** The model's provider; decides the default profile. */
  provider: text('provider', { max: 64 }),
  model: text('model', { max: 128 }),
  /** The system prompt; null for none. */
  instructions: nullable(Content),
  /** A profile for every run of the session, or for this run; null for what was selected or the provider's default. */
  tool_profile: nullable(ProfileId),
  /** Opens a host session before the first turn when the tools need one. */
  host_session_open: flag,
  turns_max: integer('turns_max', 1, TURNS_MAX),
  calls_max: integer('calls_max', 1, CALLS_MAX),
  /** The same call this many times in a row is answered, not run; once more ends the run. */
  repeats_max: integer('repeats_max', 2, REPEATS_MAX),
  tool_concurrency_max: integer('tool_concurrency_max', 1, CONCURRENCY_MAX),
  output_tokens_max: nullable(integer('output_tokens_max', 1, 10_000_000)),
  /** `continue`: the model sees failures. `steerable`: a terminal result ends the run (Steerable, "Completion"). */
  completion: oneOf('completion', ['continue', 'steerable']),
} as const;

/**
 * How often a generate or a repeatable call is tried, and how long to wait before the n-th retry:
 * `min(base_ms * 2^(n-1), cap_ms)`, then times the jitter that the edge drew and recorded.
 */
export const RetryPolicy = shape('RetryPolicy', {
  attempts_max: integer('attempts_max', 1, ATTEMPTS_MAX),
  base_ms: integer('base_ms', 0, RETRY_CAP_MS_MAX),
  cap_ms: integer('cap_ms', 0, RETRY_CAP_MS_MAX),
});
export type RetryPolicy = TypeOf<typeof RetryPolicy>;

/** Absent in sessions that are older than these fields: no such bound, no retry, no sharing. */
const laterConfigFields = {
  /** Input and output tokens of the whole run: beyond it no further call and no further turn is made, the run fails. */
  tokens_max: nullable(integer('tokens_max', 1)),
  /** Wall time of the whole run, waiting for people included, in milliseconds. */
  wall_ms_max: nullable(integer('wall_ms_max', 1, RUN_MS_MAX)),
  retry: RetryPolicy,
  /** Identical read-only calls of one batch run once, and every one of them is answered. */
  share_reads: flag,
} as const;

/** What a config has for a model that names none. */
export const MODEL_UNNAMED = 'default';

/** What every run of a session takes over, and what a run was started with. */
export const RunConfig = shape('RunConfig', configFields, laterConfigFields);
export type RunConfig = TypeOf<typeof RunConfig>;

/** Fields to change; the others stay. */
export const RunConfigPatch = shape('RunConfigPatch', {}, { ...configFields, ...laterConfigFields });
export type RunConfigPatch = TypeOf<typeof RunConfigPatch>;

/** Why a run was started. */
export const RunCause = shape(
  'RunCause',
  { kind: oneOf('kind', ['direct', 'follow_up', 'event']) },
  { note: text('note', { max: 1_024 }) },
);
export type RunCause = TypeOf<typeof RunCause>;

/** The phases of a live run; a session without one is `idle`. The transitions are a table in the reducers. */
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

/** Tokens a generate used, as the provider counted them. */
export const Usage = shape('Usage', {
  input_tokens: integer('input_tokens', 0),
  output_tokens: integer('output_tokens', 0),
});
export type Usage = TypeOf<typeof Usage>;

/** How a run ends, and why. */
export const RunEnding = shape('RunEnding', {
  outcome: RunOutcome,
  code: nullable(text('code', { max: 64 })),
  message: nullable(text('message', { max: 1_024 })),
  output: nullable(Content),
});
export type RunEnding = TypeOf<typeof RunEnding>;

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
    /** The tools the generate that is owed, or was last settled, was offered; pinned when it became owed. */
    offer: nullable(EffectiveToolSet),
    /** Messages that enter the next generate. */
    steers: list(Content, STEERS_MAX),
    /** The last call's tool and arguments, and how often it came in a row. */
    repeat: shape('RepeatGuard', {
      tool_name: nullable(text('tool_name', { max: 256 })),
      arguments_digest: nullable(Digest),
      count: integer('count', 0),
    }),
    /** How it will end once its running calls have settled; null while it goes on. */
    ending: nullable(RunEnding),
    started_at_ms: TimeMs,
  },
  {
    /** What the person said who interrupted: the run goes on with it once its running calls have settled. */
    redirect: Content,
    /** Calls to make after the open batch: approved by a person with other arguments than the model's. */
    amended: list(ToolCallObserved, AMENDED_MAX),
    /** Generates of this turn that failed and may be tried again; no next one is owed before `not_before_ms`. */
    retry: shape('GenerateRetry', { failures: integer('failures', 1), not_before_ms: nullable(TimeMs) }),
  },
);
export type RunState = TypeOf<typeof RunState>;

/** An ended run, as state remembers it. */
export const RunRecord = shape('RunRecord', {
  run_id: RunId,
  ending: RunEnding,
  cause: RunCause,
  ...counters,
  started_at_ms: TimeMs,
  ended_at_ms: TimeMs,
});
export type RunRecord = TypeOf<typeof RunRecord>;

/** A run that starts when the live one has ended. */
export const FollowUp = shape('FollowUp', { input: Content }, { run_overrides: RunConfigPatch, tools: ToolOverrides });
export type FollowUp = TypeOf<typeof FollowUp>;
