// The cheapest possible fold of these events with immer: one draft an event, in which every field that the real fold writes
// gets the same value. What must be computed (the plan, the digest of a full page, the offered tools) comes from a
// recording, and nothing is checked. The result has the same bytes.
import { type Draft, produce } from 'immer';
import type { IngressEvent } from '../schemas/event.ts';
import type { Digest, Version } from '../schemas/ids.ts';
import type { ToolBatchPlan } from '../schemas/plan.ts';
import type { ActiveToolBatch, SessionState, TranscriptEntry } from '../schemas/state.ts';

/** What the recording holds for one event. */
export interface Known {
  readonly plan: ToolBatchPlan | null;
  /** The page it filled. */
  readonly sealed: Digest | null;
}

/** The next state, for the events of a turn. */
export function bareFold(state: SessionState, event: IngressEvent, known: Known): SessionState {
  return produce(state, (draft) => {
    draft.version = (state.version + 1) as Version;
    draft.updated_at_ms = event.at_ms;
    if (event.kind === 'ToolCallsObserved') observe(draft, event, known);
    else if (event.kind === 'ToolCallSettled') settle(draft, event, state);
    else if (event.kind === 'ToolBatchSettled') close(draft, state);
    else throw new Error(`no turn has an event of kind ${event.kind}`);
    if (known.sealed !== null) {
      draft.transcript.open = [];
      draft.transcript.sealed.push(known.sealed);
      if (draft.transcript.sealed.length > 64) draft.transcript.sealed.shift();
    }
  });
}

type State = Draft<SessionState>;
type Of<K extends IngressEvent['kind']> = Extract<IngressEvent, { readonly kind: K }>;

function observe(draft: State, event: Of<'ToolCallsObserved'>, { plan }: Known): void {
  const { run } = draft;
  const last = event.calls.at(-1);
  if (run === null || plan === null || last?.arguments_digest === undefined) throw new Error('not a turn');
  draft.transcript.count += 1;
  draft.transcript.open.push({ role: 'assistant', calls: event.calls } as Draft<TranscriptEntry>);
  run.calls += event.calls.length;
  run.repeat = { tool_name: last.tool_name, arguments_digest: last.arguments_digest, count: 1 };
  run.phase = 'executing';
  draft.batches_started += 1;
  draft.last_tool_plan_hash = plan.plan_hash;
  draft.active_tool_batch = {
    batch_id: `batch-${draft.batches_started}`,
    run_id: event.run_id,
    turn: event.turn,
    observed: event.calls,
    plan,
    pages: [
      event.calls.map(() => ({ attempt: 1, owner: null, terminal: false, status: 'queued', output: null, code: null })),
    ],
    queued: event.calls.length,
    running: 0,
  } as Draft<ActiveToolBatch>;
}

function settle(draft: State, event: Of<'ToolCallSettled'>, state: SessionState): void {
  const position = state.active_tool_batch?.observed.findIndex(({ call_id }) => call_id === event.call_id) ?? -1;
  const batch = draft.active_tool_batch;
  const call = batch?.pages[0]?.[position];
  if (batch === null || call === undefined) throw new Error('not a turn');
  batch.queued -= 1;
  call.status = 'succeeded';
  call.output = event.output;
  call.code = null;
  call.terminal = false;
}

function close(draft: State, { active_tool_batch: batch, effective_tools }: SessionState): void {
  const { run, transcript } = draft;
  if (run === null || batch === null) throw new Error('not a turn');
  transcript.count += batch.observed.length;
  for (const [position, { call_id, tool_name }] of batch.observed.entries()) {
    const content = batch.pages[0]?.[position]?.output;
    transcript.open.push({ role: 'tool', call_id, tool_name, content, is_error: false } as Draft<TranscriptEntry>);
  }
  draft.active_tool_batch = null;
  run.steers = [];
  run.turn += 1;
  run.phase = 'generating';
  run.offer = effective_tools as Draft<typeof effective_tools>;
}
