// What the outside owes a session, derived from its state and from nothing else (DESIGN section 1): ask twice and the
// answer is the same; after a crash it is simply computed again.
import { callStateAt, callStateOf, plannedOf } from '../../reducers/batch-index.ts';
import { isTerminal } from '../../reducers/call-status.ts';
import { hostSessionDeadline } from '../../reducers/host-session.ts';
import type { Effect, EffectOfKind } from '../../schemas/effect.ts';
import { brand } from '../../schemas/ids.ts';
import type { RunState } from '../../schemas/run.ts';
import type { ActiveToolBatch, SessionState } from '../../schemas/state.ts';

/** Every effect that is owed now: for an open batch, every call that is not terminal, with what it still waits for. */
export function effects(state: SessionState): readonly Effect[] {
  const { run, active_tool_batch: batch } = state;
  return [
    ...(run === null ? [] : runEffects(state, run)),
    ...(run === null || batch === null ? [] : batchEffects(state, run, batch)),
    ...wakes(state),
  ];
}

/** True when something is owed that a bridge, and not only the clock, must do. */
export const owesBridge = (state: SessionState): boolean =>
  state.run !== null && !state.run.phase.startsWith('paused_');

function runEffects(state: SessionState, run: RunState): readonly Effect[] {
  const { session_id } = state;
  if (run.phase === 'opening') {
    return [{ kind: 'host_session.open', effect_id: brand(`${run.run_id}/open`), session_id, run_id: run.run_id }];
  }
  return run.phase === 'generating' ? [generate(state, run)] : [];
}

function generate(state: SessionState, run: RunState): EffectOfKind<'llm.generate'> {
  const { config, turn, run_id } = run;
  return {
    kind: 'llm.generate',
    effect_id: brand(`${run_id}/turn-${turn}`),
    session_id: state.session_id,
    run_id,
    turn,
    provider: config.provider,
    model: config.model,
    instructions: config.instructions,
    output_tokens_max: config.output_tokens_max,
    tools: (run.offer?.ordered_tools ?? []).map(({ tool_name, description, input_schema }) => ({
      tool_name,
      description,
      input_schema,
    })),
    transcript: state.transcript,
    tool_concurrency_max: config.tool_concurrency_max,
  };
}

function batchEffects(state: SessionState, run: RunState, batch: ActiveToolBatch): readonly Effect[] {
  if (run.phase === 'cancelling' || run.phase === 'interrupting') return cancels(state, run, batch);
  if (run.phase !== 'executing' && run.phase !== 'paused_executing') return [];
  if (batch.queued + batch.running === 0) {
    const { batch_id, plan } = batch;
    const effect_id = brand<'EffectId'>(`${batch_id}/settle`);
    const settle = { kind: 'batch.settle' as const, effect_id, session_id: state.session_id, batch_id };
    return [{ ...settle, plan_hash: plan.plan_hash }];
  }
  return batch.observed.flatMap((_, position) => {
    const call = callStateAt(batch, position);
    if (call === undefined || isTerminal(call.status)) return [];
    // A paused run starts nothing; what runs already may go on, so it stays owed to whoever holds it.
    if (run.phase === 'paused_executing' && call.status === 'queued') return [];
    return [callEffect(state, run, batch, position)];
  });
}

function callEffect(
  state: SessionState,
  run: RunState,
  batch: ActiveToolBatch,
  position: number,
): EffectOfKind<'tool.call'> {
  const observed = batch.observed[position] as ActiveToolBatch['observed'][number];
  const { call, group } = plannedOf(batch.plan, observed.call_id) as NonNullable<ReturnType<typeof plannedOf>>;
  const attempt = callStateAt(batch, position)?.attempt ?? 1;
  const after = batch.plan.execution_plan.after[call.call_id] ?? [];
  return {
    kind: 'tool.call',
    effect_id: brand(`${batch.batch_id}/${call.call_id}/${attempt}`),
    session_id: state.session_id,
    batch_id: batch.batch_id,
    call_id: call.call_id,
    plan_hash: batch.plan.plan_hash,
    attempt,
    tool_id: call.tool_id,
    tool_name: call.tool_name,
    executor: call.executor,
    arguments_digest: call.arguments_digest,
    ...(observed.arguments_ref === undefined
      ? { arguments: observed.arguments ?? {} }
      : { arguments_ref: observed.arguments_ref }),
    after: after.filter((id) => !isTerminal(callStateOf(batch, id)?.status ?? 'queued')),
    group,
    repeatable: call.repeatable,
    timeout_ms: call.timeout_ms,
    output_bytes_max: call.output_bytes_max,
    tool_concurrency_max: run.config.tool_concurrency_max,
  };
}

/** Running calls to stop: all of them when the run is cancelled, the willing ones when it is interrupted. */
function cancels(state: SessionState, run: RunState, batch: ActiveToolBatch): readonly Effect[] {
  return batch.plan.planned_calls.flatMap((planned) => {
    const call = callStateOf(batch, planned.call_id);
    if (call?.status !== 'running') return [];
    if (run.phase === 'interrupting' && planned.interrupt_behavior !== 'cancel') return [];
    const { attempt, owner } = call;
    const { call_id } = planned;
    const { batch_id } = batch;
    const effect_id = brand<'EffectId'>(`${batch_id}/${call_id}/${attempt}/cancel`);
    return [
      { kind: 'tool.cancel' as const, effect_id, session_id: state.session_id, batch_id, call_id, attempt, owner },
    ];
  });
}

function wakes(state: SessionState): readonly Effect[] {
  const at_ms = hostSessionDeadline(state);
  if (at_ms === null) return [];
  return [{ kind: 'wake', effect_id: brand(`wake/${at_ms}`), session_id: state.session_id, at_ms }];
}
