// Explains what happened to one call, and why, while its stream is folded. A call id is unique in its batch only, so a
// session may have several calls with one id; each is explained.
import { upcast } from '../../schemas/upcast.ts';
import { callStateAt, callStateOf, plannedOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import type { CallConsent } from '../../schemas/consent.ts';
import type { IngressEvent } from '../../schemas/event.ts';
import type { BatchId, CallId, Digest, OwnerId, RunId, ToolId } from '../../schemas/ids.ts';
import type { PlannedToolCall } from '../../schemas/plan.ts';
import type { StreamRecord } from '../../schemas/record.ts';
import type { ActiveToolBatch, CallState, CallStatus, SessionState } from '../../schemas/state.ts';
import type { Claim, ToolCallObserved } from '../../schemas/tool-call.ts';
import type { ToolReason } from '../../schemas/tool-set.ts';
import { type MadeCalls, batchAfter, callsMade, refusedTurn } from './batch-steps.ts';
import { type Conflict, conflictBetween } from '../../reducers/conflict.ts';
import { type Confirmation, type Moment, confirmationsIn, momentOf } from './explain-confirmation.ts';
import {
  type CallStep,
  type ExplainedNote,
  type ExplainedQuestion,
  lossIn,
  notesIn,
  questionsAfter,
} from './explain-questions.ts';
import type { FoldedEvent } from './folded-event.ts';
import { newReplayer } from './replay.ts';

export interface CallExplanation {
  readonly call: ToolCallObserved;
  /** Its place among the calls of its turn. */
  readonly index: number;
  readonly run_id: RunId;
  readonly turn: number;
  /** Null when the turn was refused as a whole, because it ended the run. */
  readonly batch_id: BatchId | null;
  readonly plan_hash: Digest | null;
  readonly observed: Moment;
  /** Its tool when the call was made; null when no tool had this name. */
  readonly tool: {
    readonly tool_id: ToolId;
    readonly effective: boolean;
    readonly reasons: readonly ToolReason[];
    /** The tool was offered to the model in the turn that made the call. */
    readonly offered: boolean;
  } | null;
  readonly rejected: { readonly code: string; readonly message: string } | null;
  readonly planned: PlannedPlace | null;
  /** Whether a person was asked, and why; null when no rule asked. */
  readonly consent: CallConsent | null;
  /** The answers of people to it, in order. */
  readonly confirmations: readonly Confirmation[];
  readonly starts: readonly (Moment & { readonly owner: OwnerId; readonly attempt: number })[];
  /** The attempts after which the call was queued again: their bridge was lost, or they failed temporarily. */
  readonly losses: readonly (Moment & { readonly attempt: number; readonly why: 'lost' | 'retried' })[];
  /** The handles that were noted of its work outside, in order. */
  readonly notes: readonly ExplainedNote[];
  /** What it asked, in order, and who answered what. */
  readonly questions: readonly ExplainedQuestion[];
  readonly settled: Settled | null;
  /** When its result went to the model. */
  readonly answered: Moment | null;
  readonly status: CallStatus;
}

/** Its place in the plan. */
export interface PlannedPlace {
  readonly group: number;
  readonly groups: number;
  readonly parallel_safe: boolean;
  readonly claims: readonly Claim[];
  /** The tool changes nothing, so its start need not be recorded. */
  readonly read_only: boolean;
  /** The call may run again after its bridge was lost. */
  readonly repeatable: boolean;
  readonly waited_for: readonly WaitedFor[];
}

export interface WaitedFor {
  readonly call_id: CallId;
  readonly tool_name: string;
  readonly group: number;
  readonly conflict: Conflict | null;
  readonly settled: Moment | null;
}

export interface Settled extends Moment {
  readonly status: CallStatus;
  readonly code: string | null;
  readonly attempt: number;
  /** The kind of event that settled it: the report on the call, a lost lease, or the end of its run. */
  readonly by: IngressEvent['kind'];
  readonly duration_ms: number | null;
  /** What its result tells people; null when it was settled without one. */
  readonly told: Told | null;
}

/** The fields of a result that people read, of which each may be absent (Steerable Tools Spec, "ToolResult"). */
export interface Told {
  readonly message?: string;
  readonly error?: string;
  readonly nextAction?: string;
}

/** Collects what happens to the calls with one id while a stream is folded. */
export interface CallHistory {
  add(folded: FoldedEvent): void;
  /** Every call with this id so far, in the order they were made. */
  result(): readonly CallExplanation[];
}

export function newCallHistory(id: CallId): CallHistory {
  let calls: readonly CallExplanation[] = [];
  return {
    add(folded) {
      calls = calls.map((call) => (isOpen(call, folded.before) ? advance(call, folded) : call));
      const made = callsMade(folded);
      if (made === null) return;
      for (const [index, call] of made.calls.entries()) {
        if (call.call_id === id) calls = [...calls, observe(call, index, { ...folded, ...made })];
      }
    },
    result: () => calls,
  };
}

/** Explains every call with this id in a whole stream. Stops where the stream does not fold as recorded. */
export function explainCall(records: Iterable<StreamRecord>, id: CallId): readonly CallExplanation[] {
  const history = newCallHistory(id);
  const replayer = newReplayer((folded) => history.add(folded));
  for (const record of records) if (!replayer.add(record)) break;
  return history.result();
}

function observe(
  call: ToolCallObserved,
  index: number,
  { position, event, run_id, turn, before, after }: FoldedEvent & MadeCalls,
): CallExplanation {
  // A turn that ends the run opens no batch, and no batch was open before it.
  const batch = after.active_tool_batch;
  const moment = momentOf({ position, event });
  const { rejected, status, code } = batch === null ? refusedWith(after) : beginningOf(batch, index);
  const settled = { ...moment, attempt: 1, by: upcast(event).kind, duration_ms: null, told: null, status, code };
  return {
    call,
    index,
    run_id,
    turn,
    ...(batch === null ? NO_BATCH : planOf(batch, call.call_id, rejected !== null)),
    observed: moment,
    tool: toolOf(call, before),
    rejected,
    confirmations: [],
    starts: [],
    losses: [],
    notes: [],
    questions: [],
    // A workflow call is settled in the same event.
    settled: isTerminal(status) ? settled : null,
    answered: batch === null ? moment : null,
    status,
  };
}

type Beginning = Pick<CallExplanation, 'rejected' | 'status'> & { readonly code: string | null };

function beginningOf(batch: ActiveToolBatch, index: number): Beginning {
  const { status = 'queued', code = null } = callStateAt(batch, index) ?? {};
  return { rejected: rejectedIn(batch, index), status, code };
}

function refusedWith(after: SessionState): Beginning {
  const rejected = refusedTurn(after);
  return { rejected, status: 'rejected', code: rejected.code };
}

type Planned = Pick<CallExplanation, 'batch_id' | 'plan_hash' | 'planned' | 'consent'>;

const NO_BATCH: Planned = { batch_id: null, plan_hash: null, planned: null, consent: null };

const planOf = (batch: ActiveToolBatch, id: CallId, isRejected: boolean): Planned => ({
  batch_id: batch.batch_id,
  plan_hash: batch.plan.plan_hash,
  planned: isRejected ? null : placeOf(batch, id),
  consent: isRejected ? null : (plannedOf(batch.plan, id)?.call.consent ?? null),
});

function toolOf(
  { tool_name }: ToolCallObserved,
  { effective_tools, tool_registry, run }: SessionState,
): CallExplanation['tool'] {
  const verdict = effective_tools.verdicts.find((row) => row.tool_name === tool_name);
  if (verdict === undefined) return null;
  const { tool_id, effective, reasons } = verdict;
  // A tool with the same name and another definition is another tool.
  const tool_ref = tool_registry[tool_id]?.tool_ref;
  const offered = run?.offer?.ordered_tools.some((tool) => tool.tool_ref === tool_ref) ?? false;
  const beyond = run?.offer?.verdicts.some((row) => row.tool_id === tool_id && row.reasons.includes('beyond_offer'));
  return { tool_id, effective, reasons: beyond === true ? [...reasons, 'beyond_offer'] : reasons, offered };
}

function rejectedIn({ plan }: ActiveToolBatch, index: number): CallExplanation['rejected'] {
  const found = plan.rejected.find((row) => row.index === index);
  return found === undefined ? null : { code: found.code, message: found.message };
}

function placeOf({ plan }: ActiveToolBatch, id: CallId): PlannedPlace | null {
  const found = plannedOf(plan, id);
  if (found === undefined) return null;
  const { call, group } = found;
  const { groups, after } = plan.execution_plan;
  const { parallel_safe, claims, read_only, repeatable } = call;
  const waited_for = (after[id] ?? []).flatMap((earlier) => {
    const at = plannedOf(plan, earlier);
    return at === undefined ? [] : [waitOf(at.call, call, at.group)];
  });
  return { group, groups: groups.length, parallel_safe, claims, read_only, repeatable, waited_for };
}

const waitOf = (earlier: PlannedToolCall, later: PlannedToolCall, group: number): WaitedFor => ({
  call_id: earlier.call_id,
  tool_name: earlier.tool_name,
  group,
  conflict: conflictBetween(earlier, later),
  settled: null,
});

const isOpen = ({ batch_id, answered }: CallExplanation, { active_tool_batch }: SessionState): boolean =>
  answered === null && batch_id !== null && active_tool_batch?.batch_id === batch_id;

function advance(call: CallExplanation, folded: FoldedEvent): CallExplanation {
  const { before, after } = folded;
  const batch = batchAfter(folded);
  const was = before.active_tool_batch === null ? undefined : callStateAt(before.active_tool_batch, call.index);
  const now = batch === null ? undefined : callStateAt(batch, call.index);
  if (batch === null || was === undefined || now === undefined) return call;
  const moment = momentOf(folded);
  const event = upcast(folded.event);
  const { status, code, attempt } = now;
  const step: CallStep = { folded, was, now };
  const starts = startOf(was.status, now, moment);
  const settles = !isTerminal(was.status) && isTerminal(status);
  const why = lossIn(step);
  const by = { by: event.kind, duration_ms: settles ? durationOf(event) : null, told: toldBy(event) };
  return {
    ...call,
    status,
    planned: call.planned === null ? null : { ...call.planned, waited_for: waitsAfter(call.planned, batch, moment) },
    starts: [...call.starts, ...starts],
    confirmations: [...call.confirmations, ...confirmationsIn(folded, call.call.call_id)],
    losses: why === null ? call.losses : [...call.losses, { ...moment, attempt: was.attempt, why }],
    notes: [...call.notes, ...notesIn(step, call.call.call_id)],
    questions: questionsAfter(call.questions, step),
    settled: settles ? { ...moment, ...by, status, code, attempt } : call.settled,
    answered: after.active_tool_batch?.batch_id === batch.batch_id ? null : moment,
  };
}

const startOf = (was: CallStatus, { status, owner, attempt }: CallState, moment: Moment): CallExplanation['starts'] =>
  was === 'queued' && status === 'running' && owner !== null ? [{ ...moment, owner, attempt }] : [];

const waitsAfter = ({ waited_for }: PlannedPlace, batch: ActiveToolBatch, moment: Moment): readonly WaitedFor[] =>
  waited_for.map((wait) => {
    const over = isTerminal(callStateOf(batch, wait.call_id)?.status ?? 'queued');
    return wait.settled === null && over ? { ...wait, settled: moment } : wait;
  });

/** What the result in an event tells people; null when it contains none. */
function toldBy(event: IngressEvent): Told | null {
  if (event.kind !== 'ToolCallSettled' && event.kind !== 'user.custom_tool_result') return null;
  const { message, error, nextAction } = event.result;
  return {
    ...(message === undefined ? {} : { message }),
    ...(error === undefined ? {} : { error }),
    ...(nextAction === undefined ? {} : { nextAction }),
  };
}

const durationOf = (event: IngressEvent): number | null =>
  event.kind === 'ToolCallSettled' ? (event.duration_ms ?? null) : null;
