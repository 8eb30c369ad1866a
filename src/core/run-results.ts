// The result of every call of a run, made while its stream is folded. A call may be settled by its own report, by the report
// of the call it shares with, by a lost lease, by a time or by the end of its run: the results are read from state, not from
// the reports.
import { callStateAt, callStateOf, plannedOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import type { Content } from '../../schemas/content.ts';
import type { EventOfKind } from '../../schemas/event.ts';
import type { BatchId, CallId, Digest, RunId, ToolId } from '../../schemas/ids.ts';
import type { ActiveToolBatch, CallStatus, TranscriptPage } from '../../schemas/state.ts';
import type { ToolCallObserved, ToolResult } from '../../schemas/tool-call.ts';
import { type MadeCalls, batchAfter, callsMade, refusedTurn } from './batch-steps.ts';
import type { FoldedEvent } from './folded-event.ts';

export interface CallResult {
  /** The call as the model made it: id, name and arguments (inline, or as a reference to a blob). */
  readonly call: ToolCallObserved;
  /** The number of the turn that made it, from 1. */
  readonly turn: number;
  /** Null when its turn was refused as a whole, because it ended the run. */
  readonly batch_id: BatchId | null;
  /** Null when the call was rejected. */
  readonly tool_id: ToolId | null;
  /** The digest of its exact arguments; null when the call was rejected. */
  readonly arguments_digest: Digest | null;
  /** How it ended; `waiting`, `queued` or `running` while it has not. */
  readonly status: CallStatus;
  /** Why it did not succeed, such as `timeout` or `permission_denied`; null when it succeeded or has not ended. */
  readonly code: string | null;
  /** What the model reads, inline or as a reference to a blob; null while the call has not ended. */
  readonly output: Content | null;
  /** What the executor or the person reported, with its `data`; null when the call was settled without a report. */
  readonly result: ToolResult | null;
  /** The `data` of the report as JSON, when it is too long to stand in the result. */
  readonly data_ref?: Content;
  /** The earlier call whose result this one got; null when it has its own. */
  readonly shares: CallId | null;
}

/** Collects the results of the calls of one run, or of every run, in call order. */
export interface RunResults {
  /** Returns the results that the event has added or changed. */
  add(folded: FoldedEvent): readonly CallResult[];
  /** Every call so far, also those that have not ended. */
  result(): readonly CallResult[];
}

/** Without a run id it collects the calls of every run. */
export function newRunResults(run?: RunId): RunResults {
  const over: CallResult[] = [];
  let open: OpenBatch | null = null;
  return {
    add(folded) {
      const { after } = folded;
      const changed: CallResult[] = [];
      if (open !== null) {
        changed.push(...advance(open, folded));
        if (after.active_tool_batch?.batch_id !== open.batch.batch_id) {
          over.push(...open.results);
          open = null;
        }
      }
      const made = callsMade(folded);
      if (made === null || (run !== undefined && made.run_id !== run)) return changed;
      const batch = after.active_tool_batch;
      if (batch === null) {
        const refused = refusedCalls(made, folded);
        over.push(...refused);
        return [...changed, ...refused];
      }
      open = { batch, turn: made.turn, reports: new Map(), results: [] };
      open.results.push(...batch.observed.map((_, index) => resultAt(open as OpenBatch, index)));
      return [...changed, ...open.results];
    },
    result: () => (open === null ? [...over] : [...over, ...open.results]),
  };
}

type Report = Pick<EventOfKind<'ToolCallSettled'>, 'result' | 'data_ref'>;

interface OpenBatch {
  batch: ActiveToolBatch;
  readonly turn: number;
  /** The report that settled each call. */
  readonly reports: Map<CallId, Report>;
  readonly results: CallResult[];
}

/** The results that have changed. */
function advance(open: OpenBatch, folded: FoldedEvent): readonly CallResult[] {
  const was = open.batch;
  const reported = takeReport(open, folded);
  const { batch, results } = open;
  const changed: CallResult[] = [];
  for (const [index, { call, shares }] of results.entries()) {
    const isReported = reported !== null && (call.call_id === reported || shares === reported);
    if (!isReported && batch.plan === was.plan && callStateAt(batch, index) === callStateAt(was, index)) continue;
    const result = resultAt(open, index);
    results[index] = result;
    changed.push(result);
  }
  return changed;
}

/** The call whose report has settled it; null when there is none. */
function takeReport(open: OpenBatch, folded: FoldedEvent): CallId | null {
  const { event } = folded;
  const was = open.batch;
  open.batch = batchAfter(folded) ?? was;
  const reports = event.kind === 'ToolCallSettled' || event.kind === 'user.custom_tool_result';
  if (!reports || event.batch_id !== was.batch_id) return null;
  const isOver = (batch: ActiveToolBatch): boolean => isTerminal(callStateOf(batch, event.call_id)?.status ?? 'queued');
  // A report after which the call is tried again, or which comes after the call was given up, is not its result.
  if (isOver(was) || !isOver(open.batch)) return null;
  open.reports.set(event.call_id, event);
  return event.call_id;
}

function resultAt({ batch, turn, reports }: OpenBatch, index: number): CallResult {
  const call = batch.observed[index] as ToolCallObserved;
  const { status = 'queued', code = null, output = null } = callStateAt(batch, index) ?? {};
  const planned = status === 'rejected' ? undefined : plannedOf(batch.plan, call.call_id)?.call;
  const { tool_id = null, arguments_digest = null, shares = null } = planned ?? {};
  const report = planned === undefined ? undefined : reports.get(shares ?? call.call_id);
  const { batch_id } = batch;
  return { call, turn, batch_id, tool_id, arguments_digest, status, code, output, ...dataOf(report), shares };
}

const dataOf = ({ result, data_ref }: Partial<Report> = {}): Pick<CallResult, 'result' | 'data_ref'> => ({
  result: result ?? null,
  ...(data_ref === undefined ? {} : { data_ref }),
});

/** The calls of a turn that was refused as a whole, with what the model reads of each. */
function refusedCalls({ calls, turn }: MadeCalls, { after, sealed }: FoldedEvent): readonly CallResult[] {
  const { code } = refusedTurn(after);
  const page = sealed === null ? [] : (JSON.parse(sealed.text) as TranscriptPage).entries;
  const answers = [...page, ...after.transcript.open].filter(({ role }) => role === 'tool').slice(-calls.length);
  const unplanned = { batch_id: null, tool_id: null, arguments_digest: null, result: null, shares: null };
  return calls.map((call, index) => {
    const output = answers[index]?.content ?? null;
    return { call, turn, ...unplanned, status: 'rejected', code, output };
  });
}
