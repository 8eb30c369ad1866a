// Effects: what a session is owed now by bridges, people and the engine. Derived from state and nothing else, so a
// restart loses none (docs/design.md, law 2).
import {
  type TypeOf,
  either,
  flag,
  integer,
  jsonObject,
  list,
  nullable,
  shape,
  tagged,
  text,
  variants,
} from './codec.ts';
import { CallConsent, NoPreview, PreviewedFiles, RecordedPreview } from './consent.ts';
import { Content } from './content.ts';
import { CallQuestion, CallResume, ElicitationAnswer } from './elicitation.ts';
import {
  BatchId,
  CallId,
  Digest,
  EffectId,
  OwnerId,
  Position,
  RunId,
  SessionId,
  TimeMs,
  ToolId,
  ToolName,
} from './ids.ts';
import { CALLS_PER_BATCH_MAX, CALL_TIMEOUT_MS_MAX, CONCURRENCY_MAX, OUTPUT_BYTES_MAX, TOOLS_MAX } from './limits.ts';
import { modelFields } from './run.ts';
import { TranscriptState } from './state.ts';
import { ToolMode } from './tool-mode.ts';
import { ToolExecutor } from './tool-spec.ts';
import { FileChanges, WorkspaceName } from './undo.ts';

const common = { effect_id: EffectId, session_id: SessionId } as const;

const argumentFields = { arguments: jsonObject, arguments_ref: Content } as const;

/** The call a person is asked about. `blocking_event_ids` lists the ids of these effects. */
const asked = {
  ...common,
  batch_id: BatchId,
  call_id: CallId,
  plan_hash: Digest,
  tool_id: ToolId,
  tool_name: ToolName,
  mode: ToolMode,
  arguments_digest: Digest,
} as const;

/** A tool as the model sees it, and which definition of which tool it is. */
export const OfferedTool = shape('OfferedTool', {
  tool_id: ToolId,
  /** The digest of its name, description and schemas. */
  tool_ref: Digest,
  tool_name: ToolName,
  description: text('description', { max: 8_192 }),
  input_schema: jsonObject,
});
export type OfferedTool = TypeOf<typeof OfferedTool>;

export const Effect = variants('Effect', 'kind', {
  /** Ask the model. Answered with `ToolCallsObserved` or `GenerateFailed`, with this run and turn. */
  'llm.generate': tagged(
    'llm.generate',
    {
      ...common,
      run_id: RunId,
      turn: integer('turn', 1),
      provider: text('provider', { max: 64 }),
      model: text('model', { max: 128 }),
      instructions: nullable(Content),
      output_tokens_max: nullable(integer('output_tokens_max', 1)),
      tools: list(OfferedTool, TOOLS_MAX),
      transcript: TranscriptState,
      tool_concurrency_max: integer('tool_concurrency_max', 1, CONCURRENCY_MAX),
    },
    modelFields,
  ),
  /**
   * Ask the model for a summary of the conversation up to the sealed page `through`; `transcript` ends there. Answered with
   * `ContextCompacted` or `CompactFailed`, with this run and turn. The generate of the turn is owed afterwards.
   */
  'llm.compact': tagged('llm.compact', {
    ...common,
    run_id: RunId,
    turn: integer('turn', 1),
    through: Digest,
    provider: text('provider', { max: 64 }),
    model: text('model', { max: 128 }),
    instructions: nullable(Content),
    output_tokens_max: nullable(integer('output_tokens_max', 1)),
    transcript: TranscriptState,
  }),
  /**
   * Run one call of the plan, after every call of `after` has settled. If it is not `read_only`, `ToolCallStarted` must
   * be recorded first. Answered with `ToolCallSettled`, with this batch, call, plan and attempt.
   */
  'tool.call': tagged(
    'tool.call',
    {
      ...common,
      batch_id: BatchId,
      call_id: CallId,
      plan_hash: Digest,
      attempt: integer('attempt', 1),
      tool_id: ToolId,
      tool_name: ToolName,
      executor: ToolExecutor,
      arguments_digest: Digest,
      /** Calls of the same batch that must settle first and have not yet. */
      after: list(CallId, CALLS_PER_BATCH_MAX),
      group: integer('group', 0, CALLS_PER_BATCH_MAX),
      /** The tool changes nothing: its start need not be recorded. */
      read_only: flag,
      /** The call may run again after its bridge died. */
      repeatable: flag,
      timeout_ms: integer('timeout_ms', 1, CALL_TIMEOUT_MS_MAX),
      output_bytes_max: integer('output_bytes_max', 1, OUTPUT_BYTES_MAX),
      tool_concurrency_max: integer('tool_concurrency_max', 1, CONCURRENCY_MAX),
    },
    {
      ...argumentFields,
      /**
       * The files of the preview that the person named who allowed the call. When one of them is different now, the call must
       * not run, and settles as `changed_since_preview`.
       */
      previewed: PreviewedFiles,
      /**
       * What the attempt before left: a handle to wait with, or its state with the answer of a person. The call continues with
       * it, and does not begin again.
       */
      resume: CallResume,
    },
  ),
  /**
   * Find out what a call that waits for a person would do, without doing it. Owed once, until `until_ms`. Answered with
   * `CallPreviewed`, with this batch, call, attempt and digest.
   */
  'call.preview': tagged(
    'call.preview',
    {
      ...common,
      batch_id: BatchId,
      call_id: CallId,
      attempt: integer('attempt', 1),
      tool_id: ToolId,
      tool_name: ToolName,
      executor: ToolExecutor,
      arguments_digest: Digest,
      until_ms: TimeMs,
    },
    argumentFields,
  ),
  /**
   * Ask a person whether this call may run (openboa, "Managed tool confirmation"). Answered with
   * `user.tool_confirmation`, with this batch, call and digest. Bridges cannot lease it.
   */
  'agent.tool_use': tagged(
    'agent.tool_use',
    { ...asked, consent: CallConsent },
    {
      ...argumentFields,
      due_at_ms: TimeMs,
      /** What the call would do, or why that is not known; absent while a bridge may still say it, and where none is asked. */
      preview: either('Preview', RecordedPreview, NoPreview),
      /** A bridge may say until then what the call would do. */
      preview_until_ms: TimeMs,
    },
  ),
  /**
   * Ask a person or an application to fulfil this call (openboa, "Custom tools"). Answered with
   * `user.custom_tool_result`. `output_schema`: the schema of the `data` of the result.
   */
  'agent.custom_tool_use': tagged('agent.custom_tool_use', asked, {
    ...argumentFields,
    due_at_ms: TimeMs,
    output_schema: jsonObject,
  }),
  /**
   * Ask a person what a running call asks. Answered with `user.elicitation_result`, with this batch, call, attempt and question.
   * Bridges cannot lease it.
   */
  'agent.elicitation': tagged(
    'agent.elicitation',
    {
      ...common,
      batch_id: BatchId,
      call_id: CallId,
      attempt: integer('attempt', 1),
      tool_id: ToolId,
      tool_name: ToolName,
      question: Digest,
      asked: CallQuestion,
    },
    /** The question is answered with `cancel` then. */
    { due_at_ms: TimeMs },
  ),
  /** Hand the answer of a person to the running call that asked. Only for the owner that holds the call; it answers nothing. */
  'tool.answer': tagged('tool.answer', {
    ...common,
    batch_id: BatchId,
    call_id: CallId,
    attempt: integer('attempt', 1),
    owner: nullable(OwnerId),
    question: Digest,
    answer: ElicitationAnswer,
  }),
  /** Stop a running call. It still settles, as cancelled or otherwise. */
  'tool.cancel': tagged('tool.cancel', {
    ...common,
    batch_id: BatchId,
    call_id: CallId,
    attempt: integer('attempt', 1),
    owner: nullable(OwnerId),
    /** The run ends: the calls of the batch that have not started are cancelled. Otherwise they may still start. */
    run_ends: flag,
  }),
  /** Every call is terminal: report `ToolBatchSettled`. */
  'batch.settle': tagged('batch.settle', { ...common, batch_id: BatchId, plan_hash: Digest }),
  /** Open a host session and report it with `HostSessionUpdated`. */
  'host_session.open': tagged('host_session.open', { ...common, run_id: RunId }),
  /**
   * Put back the files a call changed, all or none; idempotent. Answered with `UndoSettled`. Granted only to a bridge that
   * names this workspace, or none where the call named none.
   */
  'call.undo': tagged(
    'call.undo',
    { ...common, position: Position, batch_id: BatchId, call_id: CallId, changes: FileChanges },
    { workspace: WorkspaceName },
  ),
  /** Report `TimeReached` at this time. The engine does this. */
  wake: tagged('wake', { ...common, at_ms: TimeMs }),
});
export type Effect = TypeOf<typeof Effect>;
export type EffectOfKind<K extends Effect['kind']> = Extract<Effect, { readonly kind: K }>;
