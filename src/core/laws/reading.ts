// The reading of a log that the laws share: what the events so far say about the open batch. It takes the plan from the
// state, and which calls a cancellation or a time ended; every other fact comes from the events.
import { argumentsValue } from '../../../schemas/tool-call.ts';
import { callStateAt } from '../../../reducers/batch-index.ts';
import { callQuestionDigest } from '../../../schemas/elicitation.ts';
import { decideConsent, grantFor, isGranted } from '../../../reducers/consent.ts';
import { hasMoved } from '../../../reducers/host-session.ts';
import { type PreviewedFiles, type RecordedPreview, previewDigest } from '../../../schemas/consent.ts';
import type { EventOfKind, IngressKind } from '../../../schemas/event.ts';
import type { BatchId, CallId, Digest } from '../../../schemas/ids.ts';
import { AMENDED_MAX, DETACHED_MAX } from '../../../schemas/limits.ts';
import type { PlannedToolCall, RejectedToolCall, ToolBatchPlan } from '../../../schemas/plan.ts';
import type { ActiveToolBatch, CallStatus } from '../../../schemas/state.ts';
import type { ToolCallObserved } from '../../../schemas/tool-call.ts';
import type { FoldedEvent } from '../folded-event.ts';

/** How a call ended. */
export type CallResult = Exclude<CallStatus, 'waiting' | 'queued' | 'running'>;

/** One observed call, as the events so far tell its life. */
export interface CallReading {
  readonly call_id: CallId;
  /** Among the observed calls. */
  readonly index: number;
  readonly observed: ToolCallObserved;
  /** Null when the plan rejects the call or does not have it. */
  readonly planned: PlannedToolCall | null;
  readonly rejected: RejectedToolCall | null;
  /** Where its last start is recorded. */
  startedAt: number | null;
  /** It has started, and neither ended nor been lost since. */
  running: boolean;
  /** A person must allow it before it starts: the plan says so, or the policy has said so since. */
  asks: boolean;
  /** Where a person allowed it, by its own answer or by a grant. */
  allowedAt: number | null;
  /** The answer was about this very call, so no later policy asks again. */
  answered: boolean;
  /** Where the host runs calls has changed since it was planned: what a person gave with the plan no longer counts. */
  moved: boolean;
  /** What it would do, as recorded since it was asked about last. */
  preview: (RecordedPreview & { readonly position: number }) | null;
  /** The files that must be as they were, because the person who allowed it named their preview; and where that is. */
  named: { readonly files: PreviewedFiles; readonly position: number } | null;
  /** Where the handle of its work outside was recorded last: a lost bridge does not end it. Null without one. */
  notedAt: number | null;
  /** How many questions it has asked. */
  questions: number;
  /** The question that it asks, and has no answer yet. */
  question: { readonly digest: Digest; readonly attempt: number; readonly position: number } | null;
  /** Its attempt was left to be continued, and no attempt has begun since; and whether one ever was. */
  left: boolean;
  continued: boolean;
  result: { readonly position: number; readonly status: CallResult } | null;
}

export interface BatchReading {
  readonly batch_id: BatchId;
  readonly openedAt: number;
  readonly plan: ToolBatchPlan;
  /** In call order. */
  readonly calls: readonly CallReading[];
  /** Of two calls with one id, the first. */
  readonly byId: ReadonlyMap<CallId, CallReading>;
  /** The calls that share the result of a call. */
  readonly sharers: ReadonlyMap<CallId, readonly CallReading[]>;
}

export interface DetachedReading {
  readonly batch_id: BatchId;
  readonly call_id: CallId;
  readonly plan_hash: Digest;
  readonly leftAt: number;
}

export interface Reading {
  open: BatchReading | null;
  /** The batch that closed last, and where. */
  closed: { readonly batch_id: BatchId; readonly position: number } | null;
  /** Calls that an interrupt left running, without a report so far. */
  detached: readonly DetachedReading[];
  /** Calls that a person gave instead of calls of the open batch. */
  amended: readonly ToolCallObserved[];
  /** Where the rules that may deny a call were recorded last; -1 is the genesis record. */
  readonly since: { policy: number; session: number; run: number; registry: number; host: number };
}

export const newReading = (): Reading => ({
  open: null,
  closed: null,
  detached: [],
  amended: [],
  since: { policy: -1, session: -1, run: -1, registry: -1, host: -1 },
});

/** Takes in one event, with the results that it gives. */
export function advance(reading: Reading, folded: FoldedEvent, results: ReadonlyMap<CallReading, CallResult>): void {
  const { position, after } = folded;
  noteRules(reading, folded);
  const { open } = reading;
  // What was approved in one place is not approved in another.
  if (hasMoved(folded.before.tool_runtime_context, after.tool_runtime_context)) reading.amended = [];
  if (open !== null) noteOpen(reading, open, folded);
  for (const [call, status] of results) {
    call.result = { position, status };
    call.running = false;
    call.question = null;
  }
  if (open !== null) noteAsked(open, folded);
  noteDetached(reading, folded);
  if (after.active_tool_batch?.batch_id === open?.batch_id) return;
  if (open !== null) {
    reading.closed = { batch_id: open.batch_id, position };
    reading.amended = [];
  }
  reading.open = after.active_tool_batch === null ? null : readBatch(after.active_tool_batch, position);
}

function readBatch({ batch_id, observed, plan }: ActiveToolBatch, openedAt: number): BatchReading {
  const rejections = new Map(plan.rejected.map((rejection) => [rejection.index, rejection]));
  const plans = new Map(plan.planned_calls.map((call) => [call.call_id, call]));
  const calls = observed.map((call, index): CallReading => {
    const rejected = rejections.get(index) ?? null;
    const planned = rejected === null ? (plans.get(call.call_id) ?? null) : null;
    const status = rejected !== null ? 'rejected' : planned?.executor.kind === 'workflow' ? 'succeeded' : null;
    return {
      call_id: call.call_id,
      index,
      observed: call,
      planned,
      rejected,
      startedAt: null,
      running: false,
      asks: planned?.consent?.ask === 'person',
      allowedAt: null,
      answered: false,
      moved: false,
      preview: null,
      named: null,
      notedAt: null,
      questions: 0,
      question: null,
      left: false,
      continued: false,
      result: status === null ? null : { position: openedAt, status },
    };
  });
  const byId = new Map(calls.map((call) => [call.call_id, call] as const).reverse());
  return { batch_id, openedAt, plan, calls, byId, sharers: sharersIn(calls) };
}

function sharersIn(calls: readonly CallReading[]): ReadonlyMap<CallId, readonly CallReading[]> {
  const sharers = new Map<CallId, CallReading[]>();
  for (const call of calls) {
    const shared = call.planned?.shares;
    if (shared === undefined) continue;
    const known = sharers.get(shared);
    if (known === undefined) sharers.set(shared, [call]);
    else known.push(call);
  }
  return sharers;
}

/** The kinds that decide which tools there are, and as what they were approved. */
const SETS_TOOLS: ReadonlySet<IngressKind> = new Set<IngressKind>([
  'ToolRegistrySet',
  'ToolsetSet',
  'ToolsetApproved',
  'ToolsetRemoved',
]);

function noteRules({ since }: Reading, { event, position, before, after }: FoldedEvent): void {
  if (event.kind === 'ConsentPolicySet') since.policy = position;
  else if (SETS_TOOLS.has(event.kind)) since.registry = position;
  else if (event.kind === 'ToolOverridesSet') since[event.scope] = position;
  if (after.run?.run_id !== before.run?.run_id) since.run = position;
  if (after.tool_runtime_context !== before.tool_runtime_context) since.host = position;
}

/** Whether what is allowed may be something else after an event. */
export const changesRules = ({ before, after }: FoldedEvent): boolean =>
  after.effective_tools !== before.effective_tools || after.consent !== before.consent;

/** Returns whether the host runs calls in another place from here on: answers that were given before no longer count. */
function noteMoved(open: BatchReading, { before, after }: FoldedEvent): boolean {
  const moved = hasMoved(before.tool_runtime_context, after.tool_runtime_context);
  for (const call of moved ? open.calls : []) {
    call.answered = false;
    call.moved = true;
    call.preview = null;
    call.named = null;
  }
  return moved;
}

/** The calls that have not started and about which the policy asks now, unless a person has answered about them. */
function noteAsked(open: BatchReading, folded: FoldedEvent): void {
  const { event, after } = folded;
  const moved = noteMoved(open, folded);
  const own = 'call_id' in event ? open.byId.get(event.call_id) : undefined;
  const anew = moved || changesRules(folded);
  for (const call of anew || event.kind === 'TimeReached' ? open.calls : own === undefined ? [] : [own]) {
    const { planned, observed } = call;
    if (!isJudgedNow(call, folded, anew || call === own)) continue;
    if (planned === null || (isAmended(planned) && !call.moved)) continue;
    const tool = after.tool_registry[planned.tool_id];
    if (tool === undefined || after.consent === undefined) continue;
    if (decideConsent(after.consent, tool, argumentsValue(observed)).decision !== 'ask') continue;
    call.asks = true;
    call.allowedAt = null;
    call.named = null;
  }
}

/**
 * Whether the fold judges the call again: with all others, after its own report, or because its question has ended. What a call
 * asks is answered first: its next attempt is judged then.
 */
function isJudgedNow(call: CallReading, folded: FoldedEvent, named: boolean): boolean {
  const asked = call.question !== null;
  if (asked && !hasQuestion(folded, call)) call.question = null;
  const { question, result, running, answered } = call;
  return question === null && result === null && !running && !answered && (named || asked);
}

/** Whether the call has an open question after the event, as the state has it: a time or an end may withdraw one. */
const hasQuestion = ({ after }: FoldedEvent, { index }: CallReading): boolean =>
  after.active_tool_batch !== null && callStateAt(after.active_tool_batch, index)?.question !== undefined;

/** A person gave the call with these arguments. */
const isAmended = ({ consent }: PlannedToolCall): boolean =>
  consent?.reasons.includes('approved_with_changes') === true;

/** What an event says about a call of the open batch besides its result. */
function noteOpen(reading: Reading, open: BatchReading, { event, position, before }: FoldedEvent): void {
  if (!('batch_id' in event) || !('call_id' in event) || event.batch_id !== open.batch_id) return;
  const call = open.byId.get(event.call_id);
  if (call === undefined) return;
  noteLeft(call, event, position);
  if (event.kind === 'ToolCallStarted') {
    call.startedAt = position;
    call.running = true;
  } else if (event.kind === 'CallPreviewed') {
    const { preview } = event;
    call.preview = 'files' in preview ? { ...preview, digest: previewDigest(preview), position } : null;
  } else if (event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') {
    if (event.kind === 'LeaseExpired' && call.notedAt !== null) leave(call);
    call.running = false;
    call.question = null;
  } else if (event.kind === 'user.tool_confirmation' && isBound(call, event)) {
    if (event.result === 'allow') noteAllowed(open, call, { event, position, before });
    else if (event.instead !== undefined) reading.amended = [...reading.amended, event.instead].slice(-AMENDED_MAX);
  }
}

/** What an event says of what an attempt of the call notes, asks and leaves. */
function noteLeft(call: CallReading, event: FoldedEvent['event'], position: number): void {
  if (event.kind === 'ToolCallStarted') call.left = false;
  else if (event.kind === 'ToolCallNoted') call.notedAt = position;
  else if (event.kind === 'ToolCallAsked') noteQuestion(call, event, position);
  else if (event.kind === 'LeaseExpired' && call.notedAt !== null) leave(call);
  const ends = event.kind === 'user.elicitation_result' || event.kind === 'ToolCallSettled';
  if (ends || event.kind === 'LeaseExpired') call.question = null;
}

function noteQuestion(call: CallReading, event: EventOfKind<'ToolCallAsked'>, position: number): void {
  call.questions += 1;
  call.question = { digest: callQuestionDigest(event.question, call.questions), attempt: event.attempt, position };
  if (event.resume === undefined) return;
  call.running = false;
  leave(call);
}

/** Its attempt is over, and another one continues it. */
function leave(call: CallReading): void {
  call.left = true;
  call.continued = true;
}

type Answer = Pick<EventOfKind<'user.tool_confirmation'>, 'arguments_digest'>;

/** Whether an answer is about a call as it was planned, and no answer has decided it before. */
const isBound = ({ asks, planned, result, allowedAt }: CallReading, { arguments_digest }: Answer): boolean =>
  asks && planned?.arguments_digest === arguments_digest && result === null && allowedAt === null;

interface Allowing extends Pick<FoldedEvent, 'position' | 'before'> {
  readonly event: EventOfKind<'user.tool_confirmation'>;
}

/** The files of the preview that an answer names; null when it names none, or another one. */
const namedBy = ({ preview }: CallReading, event: Allowing['event'], position: number): CallReading['named'] =>
  preview !== null && preview.digest === event.preview ? { files: preview.files, position } : null;

/** A grant also answers the questions that it covers. */
function noteAllowed(open: BatchReading, call: CallReading, { event, position, before }: Allowing): void {
  call.allowedAt = position;
  call.answered = true;
  call.named = namedBy(call, event, position);
  call.preview = null;
  const { planned } = call;
  if (event.grant === undefined || planned === null || before.consent === undefined) return;
  const grant = grantFor(event.grant, planned, argumentsValue(call.observed));
  if (grant === null) return;
  for (const other of open.calls) {
    if (other.planned === null || !other.asks || other.allowedAt !== null || other.result !== null) continue;
    if (isGranted(grant, other.planned, argumentsValue(other.observed))) other.allowedAt = position;
  }
}

function noteDetached(reading: Reading, { event, position, after }: FoldedEvent): void {
  if (event.kind === 'ToolCallSettled' || event.kind === 'LeaseExpired') {
    reading.detached = reading.detached.filter((call) => !isSameCall(call, event));
  }
  const { open } = reading;
  if (event.kind !== 'user.interrupt' || open === null) return;
  const left = open.calls.filter(
    ({ result, planned }) =>
      result?.position === position && result.status === 'unknown' && planned?.shares === undefined,
  );
  const known = left.map(({ call_id }) => ({
    batch_id: open.batch_id,
    call_id,
    plan_hash: open.plan.plan_hash,
    leftAt: position,
  }));
  // A call that is in the state no longer has been reported, or its bridge was lost.
  const kept = reading.detached.filter((call) => after.detached?.some((row) => isSameCall(call, row)) === true);
  reading.detached = [...kept, ...known].slice(-DETACHED_MAX);
}

type Named = Pick<DetachedReading, 'batch_id' | 'call_id'>;

export const isSameCall = (a: Named, b: Named): boolean => a.batch_id === b.batch_id && a.call_id === b.call_id;
